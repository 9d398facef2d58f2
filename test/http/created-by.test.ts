import { expect, test } from 'bun:test'
import { faultsOf } from '../support/history.ts'
import { type Body, register, makeToken } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'
import { expectRefusal } from './answers.ts'
import { createdBy, openCreations } from './creations-scene.ts'
import { nowhere } from './scene.ts'
import { accountsAt, tokensOf } from './service-account-scene.ts'

const service = await forFile(openTestService())
const owner = await register(service.client, 'Owner')

test('webhooks, service accounts and tokens show the id of the account that created them', async () => {
  const { admin, projectId, webhook, webhooks, account, token } = await openCreations(owner)
  const reads = [`${webhooks}/${webhook.id}`, webhooks, accountsAt(projectId), tokensOf(account)]
  const bodies = async () =>
    (await Promise.all(reads.map((path) => owner.get(path)))).map(({ body }) => [body].flat()[0]!)
  expect([webhook, account, token, ...(await bodies())].map(createdBy)).toEqual(Array(7).fill(admin.id))
  const own = await makeToken(admin)
  expect([own, (await admin.get('/tokens')).body[0]!].map(createdBy)).toEqual([admin.id, admin.id])
  expect((await admin.delete('/auth/me')).status).toBe(200)
  expect((await bodies()).map(createdBy)).toEqual([null, null, null, null])
})

test('every change of a webhook, service account or token is an event of the project by its caller', async () => {
  const { admin, projectId, webhook, webhooks, account, token, events } = await openCreations(owner)
  const path = `${webhooks}/${webhook.id}`
  await owner.patch(path, { url: `${nowhere}/elsewhere`, types: ['task.created'] })
  await owner.patch(path, { types: ['task.created'] })
  await owner.post(`${path}/rotate`)
  await owner.post(`${path}/replay`, { after: 0 })
  await owner.patch(path, { enabled: false })
  await owner.delete(`${tokensOf(account)}/${token.id}`)
  await owner.delete(`${accountsAt(projectId)}/${account.id}`)
  await owner.delete(path)
  const told = (await events()).map(({ type, actor, after }) => [
    type,
    actor.id === admin.id ? 'admin' : actor.id === owner.id ? 'owner' : actor.id,
    after?.changed,
  ])
  expect(told).toEqual([
    ['webhook.created', 'admin', undefined],
    ['service_account.created', 'admin', undefined],
    ['member.invited', 'admin', undefined],
    ['token.created', 'admin', undefined],
    ['webhook.updated', 'owner', ['url', 'types']],
    ['webhook.updated', 'owner', ['secret']],
    ['webhook.updated', 'owner', ['cursor']],
    ['webhook.updated', 'owner', ['enabled']],
    ['token.deleted', 'owner', undefined],
    ['service_account.deleted', 'owner', undefined],
    ['member.removed', 'owner', undefined],
    ['webhook.deleted', 'owner', undefined],
  ])
  const history = await owner.get(`/projects/${projectId}/history?entity=webhook`)
  expect(history.body).toHaveLength(6)
  const ofToken = await events('&types=token.created,token.deleted')
  expect(ofToken.map(({ entityId }) => entityId)).toEqual([token.id, token.id])
})

test('no event holds a URL, a secret, or the digest of a token', async () => {
  const { projectId, webhook, webhooks, token, events } = await openCreations(owner)
  await owner.post(`${webhooks}/${webhook.id}/rotate`)
  const sql = service.services.database.reads
  const [stored] = await sql<{ text: string }[]>`
    select string_agg(e::text, ' ') as text from events e where project_id = ${projectId}`
  const [hidden] = await sql<{ secret: string; formerSecret: string; digest: string }[]>`
    select w.secret, w.former_secret, t.digest from webhooks w, api_tokens t where w.id = ${webhook.id} and t.id = ${token.id}`
  const texts = [stored!.text, JSON.stringify(await events())]
  const secrets = [(webhook as Body & { secret: string }).secret, token.token, ...Object.values(hidden!)]
  for (const text of texts)
    for (const secret of [...secrets, '127.0.0.1', 'path-secret', 'query-secret'])
      expect(text).not.toContain(secret)
})

test('undo rejects changes of webhooks, service accounts and tokens with 409', async () => {
  const { projectId, events, member } = await openCreations(owner)
  const invited = (await events()).find(({ type }) => type === 'member.invited')!
  const ofInvitation = await owner.post(`/projects/${projectId}/undo`, { seq: invited.seq })
  expectRefusal(ofInvitation, 409, /delete the service account$/)
  await owner.delete(`${member}?revoke=true`)
  const all = await events()
  for (const { seq, entity } of all)
    if (entity !== 'member') expectRefusal(await owner.post(`/projects/${projectId}/undo`, { seq }), 409)
  const batch = all.at(-1)!.batch
  expectRefusal(await owner.post(`/projects/${projectId}/undo`, { batch }), 409)
})

test('folding the events of integrations gives their stored rows', async () => {
  expect(await faultsOf(service.services.database.reads)).toEqual([])
})
