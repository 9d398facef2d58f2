import { eventually, forFile, freshEnv, newFolder, openTestService, register, spawnService } from '../kit.ts'
import { join } from 'node:path'
import type { SMTPServerOptions } from 'smtp-server'
import { openMailServer } from '../support/mail.ts'
import { testCertificate } from '../support/tls-proxy.ts'

const authority = join(await newFolder(), 'ca.pem')
await Bun.write(authority, testCertificate.cert)

/** A server that requires a user, and accepts the password only after TLS has begun. */
const protectedServer = (secure: boolean): SMTPServerOptions => ({
  ...{ ...testCertificate, secure, authOptional: false },
  onAuth: ({ username, password }, _, done) =>
    username === 'docket' && password === 'p@ss/word'
      ? done(null, { user: username })
      : done(new Error('Wrong password')),
})

/** Registers a user. Returns the mail server, the user and the jobs, while a worker sends the mail. */
async function sendBy(scheme: 'smtp' | 'smtps', password: string, isTrusted = true) {
  const server = await forFile(openMailServer(undefined, protectedServer(scheme === 'smtps')))
  const SMTP_URL = `${scheme}://docket:${encodeURIComponent(password)}@localhost:${server.port}`
  const { env } = await forFile(freshEnv({ SMTP_URL }))
  const service = await forFile(openTestService(env))
  const trust: Record<string, string> = isTrusted ? { NODE_EXTRA_CA_CERTS: authority } : {}
  await forFile(spawnService('worker', { ...env, ...trust }))
  const { email } = await register(service.client)
  const error = async () => {
    const [job] = await service.services.database.reads<{ error: string | null }[]>`select error from outbox`
    return job?.error ?? null
  }
  return { server, email, error }
}

test.each(['smtp', 'smtps'] as const)(
  'sends mail by %s: encrypted, and with user and password',
  async (scheme) => {
    const { server, email } = await sendBy(scheme, 'p@ss/word')
    expect(await server.mail(email)).toMatchObject({ isSecure: true, user: 'docket' })
  },
)

test.each([
  ['smtp', 'a certificate that is not trusted', 'p@ss/word', false],
  ['smtps', 'a wrong password', 'p@ss', true],
] as const)(
  'by %s with %s, sends nothing, and the job keeps the reason',
  async (scheme, _, password, isTrusted) => {
    const { server, error } = await sendBy(scheme, password, isTrusted)
    await eventually('the reason', async () => (await error()) !== null)
    expect([server.mails, await error()]).toEqual([
      [],
      expect.stringMatching(isTrusted ? /password/i : /certificate/i),
    ])
  },
)
