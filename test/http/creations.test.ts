import { expect, test } from 'bun:test'
import { faultsOf } from '../support/history.ts'
import { type Body, makeToken, make } from '../support/client.ts'
import { expectError, expectResponse } from './responses.ts'
import {
  createdBy,
  type IntegrationEvent,
  openCreations,
  idsIn,
  type RemovalResponse,
} from './creations-scene.ts'
import { unreachableUrl } from './scene.ts'
import { accountsPath, tokensPath, type Account } from './service-account-scene.ts'
import { eventually } from '../races/pair.ts'
import { openScene } from '../support/scene.ts'

const { sql, owner } = await openScene(['Owner'])

test('webhooks, service accounts and tokens show the id of the account that created them', async () => {
  const { admin, projectId, webhook, webhooks, account, token } = await openCreations(owner)
  const reads = [`${webhooks}/${webhook.id}`, webhooks, accountsPath(projectId), tokensPath(account)]
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
  await owner.patch(path, { url: `${unreachableUrl}/elsewhere`, types: ['task.created'] })
  await owner.patch(path, { types: ['task.created'] })
  await owner.post(`${path}/rotate`)
  await owner.post(`${path}/replay`, { after: 0 })
  await owner.patch(path, { enabled: false })
  await owner.delete(`${tokensPath(account)}/${token.id}`)
  await owner.delete(`${accountsPath(projectId)}/${account.id}`)
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
  expect((await owner.get(`/projects/${projectId}/history?entity=webhook`)).body).toHaveLength(6)
  const ofToken = await events('&types=token.created,token.deleted')
  expect(ofToken.map(({ entityId }) => entityId)).toEqual([token.id, token.id])
})

test('no event holds a URL, a secret, or the digest of a token', async () => {
  const { projectId, webhook, webhooks, token, events } = await openCreations(owner)
  await owner.post(`${webhooks}/${webhook.id}/rotate`)
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

test('the columns that the release before shows hold no row of a webhook, service account or token', async () => {
  const { projectId, member, events } = await openCreations(owner)
  await owner.delete(`${member}?revoke=true`)
  const stored = await sql<{ seq: number; isHidden: boolean }[]>`
    select seq::int4 as seq, before is null and after is null and told is not null as is_hidden from events
    where project_id = ${projectId} and entity in ('webhook', 'service_account', 'token') order by events.seq`
  expect(stored.map(({ isHidden }) => isHidden)).toEqual([true, true, true, true, true])
  const shown = (await events()).filter(({ entity }) => !['member', 'task'].includes(entity))
  expect(shown.map(({ seq }) => seq)).toEqual(stored.map(({ seq }) => seq))
  for (const { before, after } of shown as (IntegrationEvent & { before: Body | null })[])
    expect(createdBy((after ?? before)!)).toBeString()
})

test('undo rejects changes of webhooks, service accounts and tokens with 409', async () => {
  const { projectId, events, member } = await openCreations(owner)
  const invited = (await events()).find(({ type }) => type === 'member.invited')!
  const ofInvitation = await owner.post(`/projects/${projectId}/undo`, { seq: invited.seq })
  expectError(ofInvitation, 409, /delete the service account$/)
  await owner.delete(`${member}?revoke=true`)
  const all = await events()
  for (const { seq, entity } of all)
    if (entity !== 'member') expectError(await owner.post(`/projects/${projectId}/undo`, { seq }), 409)
  const batch = all.at(-1)!.batch
  expectError(await owner.post(`/projects/${projectId}/undo`, { batch }), 409)
})

test('removing a member answers what the member created, which goes on working', async () => {
  const { projectId, member, webhook, account, token, webhooks } = await openCreations(owner)
  const { status, body } = await owner.delete(member)
  const { message, stillWorking, revoked } = body as RemovalResponse
  expect([status, message]).toEqual([200, 'Member removed successfully'])
  expect(idsIn(stillWorking)).toEqual([[webhook.id], [account.id], [token.id]])
  expect(idsIn(revoked)).toEqual([[], [], []])
  expect(JSON.stringify(body)).not.toContain('secret')
  expect((await owner.get(`${webhooks}/${webhook.id}`)).status).toBe(200)
  expect((await owner.as(token.token).get(`/projects/${projectId}`)).status).toBe(200)
})

test('with revoke=true everything that the member created ends in the commit of the removal', async () => {
  const { projectId, member, admin, account, token, webhooks, events } = await openCreations(owner)
  const program = owner.as(token.token)
  const second = await make(program, webhooks, { url: unreachableUrl })
  const other = (await make(owner, accountsPath(projectId), { name: 'Other' })) as Account
  const kept = await makeToken(owner, {}, tokensPath(other))
  const lent = await makeToken(admin, {}, tokensPath(other))
  const ours = await make(owner, webhooks, { url: unreachableUrl })
  const before = (await events()).length
  const { status, body } = await owner.delete(`${member}?revoke=true`)
  const { stillWorking, revoked } = body as RemovalResponse
  expect([status, idsIn(stillWorking)]).toEqual([200, [[], [], []]])
  expect(revoked.webhooks.map(({ id }) => id)).toContain(second.id)
  expect(idsIn(revoked).map((list) => list.length)).toEqual([2, 1, 2])
  const made = (await events()).slice(before)
  expect(made.map(({ type }) => type).sort()).toEqual([
    ...['member.removed', 'member.removed', 'service_account.deleted'],
    ...['token.deleted', 'webhook.deleted', 'webhook.deleted'],
  ])
  expect(new Set(made.map(({ batch }) => batch)).size).toBe(1)
  const again = { email: admin.email, role: 'ADMIN' }
  expectError(await program.post(`/projects/${projectId}/members/invite`, again), 404)
  for (const gone of [token, lent])
    await eventually('the token to be refused', async () => {
      return (await owner.as(gone.token).get('/auth/me')).status === 401
    })
  expect((await owner.as(kept.token).get(`/projects/${projectId}`)).status).toBe(200)
  expect((await owner.get(webhooks)).body.map(({ id }) => id)).toEqual([ours.id])
  expect((await owner.get(accountsPath(projectId))).body.map(({ id }) => id)).toEqual([other.id])
  expect(account.id).not.toBe(other.id)
})

test('deleting a service account answers and revokes what it created in the same way', async () => {
  const { projectId, account, token, webhooks, webhook } = await openCreations(owner)
  const second = await make(owner.as(token.token), webhooks, { url: unreachableUrl })
  const path = `${accountsPath(projectId)}/${account.id}?revoke=true`
  const { revoked } = (await owner.delete(path)).body as RemovalResponse
  expect(idsIn(revoked)).toEqual([[second.id], [], []])
  expect((await owner.get(webhooks)).body.map(({ id }) => id)).toEqual([webhook.id])
})

test('revoking takes the role ADMIN, also from a member who leaves', async () => {
  const { admin, projectId, member, webhooks } = await openCreations(owner)
  await owner.patch(`${member}/role`, { role: 'VIEWER' })
  expectError(await admin.delete(`${member}?revoke=true`), 403, 'This needs the role ADMIN in the project')
  expectError(await admin.delete(`${member}?revoke=1`), 400, /^revoke must be/)
  const { stillWorking } = (await admin.delete(member)).body as RemovalResponse
  expect(stillWorking.webhooks).toHaveLength(1)
  expect((await owner.get(webhooks)).body).toHaveLength(1)
  expect((await owner.get(`/projects/${projectId}/members`)).status).toBe(200)
})

test('a batch removes a member with what the member created, and a repeat under its key answers the same lists', async () => {
  const { projectId, memberId, webhooks } = await openCreations(owner)
  const operations = [{ op: 'member.remove', memberId, revoke: 'true' }]
  const answer = await owner.post(`/projects/${projectId}/batch?return=full`, { operations })
  expect(answer.status).toBe(200)
  for (const path of [webhooks, accountsPath(projectId)]) expect((await owner.get(path)).body).toHaveLength(0)
  const { member } = await openCreations(owner)
  const key = { 'idempotency-key': 'once' }
  const first = await owner.delete(`${member}?revoke=true`, key)
  expectResponse(await owner.delete(`${member}?revoke=true`, key), 200, first.body)
})

test('folding the events of everything that was revoked gives the stored rows', async () => {
  expect(await faultsOf(sql)).toEqual([])
})
