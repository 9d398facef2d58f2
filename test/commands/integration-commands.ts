import { newId, unreachableUrl } from '../kit.ts'

type RunCommand = (name: string, input: object) => Promise<{ id: string }>

export async function runIntegrationCommands(
  run: RunCommand,
  projectId: string,
  accountId: string,
): Promise<void> {
  const hook = { types: null, maxEvents: 100, enabled: true, secret: 'sealed' }
  const { id: webhookId } = await run('webhook.create', { projectId, url: unreachableUrl, ...hook })
  const ofWebhook = { projectId, webhookId }
  await run('webhook.update', { ...ofWebhook, maxEvents: 7 })
  await run('webhook.rotate', { ...ofWebhook, secret: 'another' })
  await run('webhook.replay', { ...ofWebhook, after: 1 })
  await run('webhook.disable', { ...ofWebhook, reason: 'Gone' })
  await run('webhook.delete', ofWebhook)
  const [createdAt, expiresAt] = [0, 1].map((days) => new Date(Date.now() + days * 86_400_000).toISOString())
  const token = { id: newId(), name: 'CI', scopes: ['read'], projects: null, createdAt, expiresAt }
  const ofAccount = { projectId, accountId }
  await run('token.create', { ...ofAccount, made: { ...token, digest: newId(), sealed: 'sealed' } })
  await run('token.delete', { ...ofAccount, tokenId: token.id })
}
