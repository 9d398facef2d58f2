import { type Client, disposable, openTestService, type Person, register, untilRedisReady } from '../kit.ts'
import { openMailServer } from '../support/mail.ts'

export type MailScene = Awaited<ReturnType<typeof openMailScene>>

/** Opens a service with a mail server. A worker sends the mail, unless `isIdle`. */
export async function openMailScene(
  env: Record<string, string> = {},
  { reject, isIdle }: { reject?: Parameters<typeof openMailServer>[0]; isIdle?: boolean } = {},
) {
  const server = await openMailServer(reject)
  const service = await openTestService({ SMTP_URL: server.url, ...env })
  await untilRedisReady(service)
  if (!isIdle) service.startWorkers()
  return disposable({
    ...{ service, server, client: service.client, sql: service.services.database.background },
    async close() {
      await service.close()
      await server.close()
    },
  })
}

export const notValid = /^token must be /
export const verifying = (client: Client, token: string) => client.post('/auth/email/verify', { token })
export const forgetting = (client: Client, email: string) => client.post('/auth/password/forgot', { email })
export const resetting = (client: Client, token: string, password: string) =>
  client.post('/auth/password/reset', { token, password })

export async function verified({ client, server }: MailScene, name?: string): Promise<Person> {
  const person = await register(client, name)
  const { status } = await verifying(client, (await server.mail(person.email)).token)
  if (status !== 200) throw new Error(`verify answered ${status}`)
  return person
}

export async function resetToken({ client, server }: MailScene, { email }: Person): Promise<string> {
  const before = server.to(email).length
  await forgetting(client, email)
  return (await server.mail(email, before + 1)).token
}
