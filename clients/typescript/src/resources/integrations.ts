import type { Calls } from '../calls/calls.ts'

export const openWebhooks = (calls: Calls) => ({
  /** Only this response contains the secret. */
  create: calls.write('createWebhook', 'POST /projects/{projectId}/webhooks'),
  get: calls.byId('getWebhook', 'GET /projects/{projectId}/webhooks/{id}'),
  list: calls.list('listWebhooks', 'GET /projects/{projectId}/webhooks'),
  update: calls.writeById('updateWebhook', 'PATCH /projects/{projectId}/webhooks/{id}'),
  delete: calls.byId('deleteWebhook', 'DELETE /projects/{projectId}/webhooks/{id}'),
  /** Replaces the secret. */
  rotate: calls.byId('rotateWebhook', 'POST /projects/{projectId}/webhooks/{id}/rotate'),
  test: calls.byId('testWebhook', 'POST /projects/{projectId}/webhooks/{id}/test'),
  /** Sends the events after a seq again. */
  replay: calls.writeById('replayWebhook', 'POST /projects/{projectId}/webhooks/{id}/replay'),
  deliveries: calls.listById('listWebhookDeliveries', 'GET /projects/{projectId}/webhooks/{id}/deliveries'),
})

const tokensOfAccount = '/projects/{projectId}/service-accounts/{accountId}/tokens'

export const openServiceAccounts = (calls: Calls) => ({
  create: calls.write('createServiceAccount', 'POST /projects/{projectId}/service-accounts'),
  list: calls.list('listServiceAccounts', 'GET /projects/{projectId}/service-accounts'),
  delete: calls.byId('deleteServiceAccount', 'DELETE /projects/{projectId}/service-accounts/{id}'),
  createToken: calls.write('createServiceAccountToken', `POST ${tokensOfAccount}`),
  listTokens: calls.list('listServiceAccountTokens', `GET ${tokensOfAccount}`),
  deleteToken: calls.byId('deleteServiceAccountToken', `DELETE ${tokensOfAccount}/{id}`),
})

/** The API tokens of the caller. */
export const openTokens = (calls: Calls) => ({
  /** Only this response contains the token. */
  create: calls.write('createToken', 'POST /tokens'),
  list: calls.list('listTokens', 'GET /tokens'),
  delete: calls.byId('deleteToken', 'DELETE /tokens/{id}'),
})
