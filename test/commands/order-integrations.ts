import { newId } from '../../src/ids.ts'
import { unreachableUrl } from '../http/scene.ts'

type Order = (name: string, input: object) => Promise<{ id: string }>

/** Orders each command of webhooks and of a service account's tokens. */
export async function orderIntegrations(order: Order, projectId: string, accountId: string): Promise<void> {
  const hook = { types: null, maxEvents: 100, enabled: true, secret: 'sealed' }
  const { id: webhookId } = await order('webhook.create', { projectId, url: unreachableUrl, ...hook })
  const ofWebhook = { projectId, webhookId }
  await order('webhook.update', { ...ofWebhook, maxEvents: 7 })
  await order('webhook.rotate', { ...ofWebhook, secret: 'another' })
  await order('webhook.replay', { ...ofWebhook, after: 1 })
  await order('webhook.disable', { ...ofWebhook, reason: 'Gone' })
  await order('webhook.delete', ofWebhook)
  const [createdAt, expiresAt] = [0, 1].map((days) => new Date(Date.now() + days * 86_400_000).toISOString())
  const token = { id: newId(), name: 'CI', scopes: ['read'], projects: null, createdAt, expiresAt }
  const ofAccount = { projectId, accountId }
  await order('token.create', { ...ofAccount, made: { ...token, digest: newId(), sealed: 'sealed' } })
  await order('token.delete', { ...ofAccount, tokenId: token.id })
}
