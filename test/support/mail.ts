import { createServer, type Socket } from 'node:net'
import { simpleParser } from 'mailparser'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { listen, until } from '../kit.ts'

/**
 * A received mail. `recipient` is that of the envelope; `isSecure`: TLS protected the mail, which `user` sent; `token` has a
 * line of its own in the text.
 */
export type Mail = Awaited<ReturnType<typeof mailOf>> & { isSecure: boolean; user: string | undefined }

/** Returns the SMTP status with which to reject a recipient, or undefined to accept the recipient. */
type Reject = (recipient: string, attempt: number) => number | undefined

const timeoutMs = 60_000
const plain: SMTPServerOptions = { authOptional: true, disabledCommands: ['AUTH', 'STARTTLS'] }

export async function openMailServer(reject: Reject = () => undefined, options = plain) {
  const mails: Mail[] = []
  const attempts: string[] = []
  const server = new SMTPServer({
    ...options,
    onRcptTo({ address }, _session, done) {
      attempts.push(address)
      const status = reject(address, attempts.filter((one) => one === address).length)
      done(status ? Object.assign(new Error('Rejected by the test'), { responseCode: status }) : null)
    },
    async onData(stream, session, done) {
      const source = Buffer.concat(await Array.fromAsync(stream as AsyncIterable<Buffer>))
      const mail = await mailOf(source, session.envelope.rcptTo[0]!.address)
      mails.push({ ...mail, isSecure: session.secure, user: session.user })
      done()
    },
  })
  // A client that rejects the certificate closes the connection.
  server.on('error', () => {})
  const { port } = await listen(server.server)
  const to = (email: string) => mails.filter(({ recipient }) => recipient === email)
  return {
    url: `smtp://127.0.0.1:${port}`,
    ...{ port, mails, attempts, to },
    /** Waits for the n-th mail to an address. */
    mail: async (email: string, n = 1): Promise<Mail> =>
      (await until(() => to(email)[n - 1], timeoutMs, { everyMs: 10 }))!,
    attempted: (email: string, count: number) =>
      until(() => attempts.filter((one) => one === email).length >= count || undefined, timeoutMs),
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}
export type MailServer = Awaited<ReturnType<typeof openMailServer>>

async function mailOf(source: Buffer, recipient: string) {
  const { from, to, subject = '', text = '', messageId = '', headerLines } = await simpleParser(source)
  const textOf = (one: typeof from | typeof to) => [one ?? []].flat()[0]?.text ?? ''
  const headers = headerLines.map(({ key, line }) => [key, line.slice(line.indexOf(':') + 1).trim()] as const)
  const token = text.split('\n').find((line) => /^[\w-]{43}$/.test(line)) ?? ''
  const parsed = { from: textOf(from), to: textOf(to), subject, text, messageId, headers }
  return { recipient, ...parsed, token, source: source.toString() }
}

export async function openSilentServer() {
  const sockets = new Set<Socket>()
  const { promise: connected, resolve } = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    sockets.add(socket)
    resolve()
  })
  const { port } = await listen(server)
  return {
    url: `smtp://127.0.0.1:${port}`,
    connected,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
