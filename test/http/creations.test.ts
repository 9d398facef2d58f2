import { expect, spyOn, test } from 'bun:test'
import { eventually, expectError, expectResponse, faultsOf, invite, make, makeToken } from '../kit.ts'
import { openScene, register, unreachableUrl, upTo } from '../kit.ts'
import type { Body, Person } from '../kit.ts'
import { type Account, accountsPath, tokensPath } from './account-scene.ts'
import { untilOutboxEmpty } from '../workers/remains.ts'

type IntegrationEvent = Body & {
  type: string
  entity: string
  entityId: string
  actor: { id: string }
  batch: number | null
  seq: number
  after: (Body & { changed?: string[] }) | null
}
type Integrations = { webhooks: Body; serviceAccounts: Body; tokens: Body }
type RemovalResponse = Body & { stillWorking: Integrations; revoked: Integrations }

/** Creates a project with an ADMIN, who creates a webhook, a service account and a token for the service account. */
async function openCreations(owner: Person) {
  const admin = await register(owner.as(), 'Admin')
  const { id: projectId } = await make(owner, '/projects', { name: 'Engine' })
  const { id: memberId } = await invite(owner, projectId, admin, 'ADMIN')
  const webhooks = `/projects/${projectId}/webhooks`
  const webhook = await make(admin, webhooks, { url: `${unreachableUrl}/path-secret?key=query-secret` })
  const accounts = accountsPath(projectId)
  const account = (await make(admin, accounts, { name: 'Importer', role: 'ADMIN' })) as Account
  const token = await makeToken(admin, {}, tokensPath(account))
  const member = `/projects/${projectId}/members/${memberId}`
  const events = async (query = '') =>
    (await owner.get(`/projects/${projectId}/events?after=2${query}`)).body as unknown as IntegrationEvent[]
  return { projectId, admin, member, memberId, webhooks, webhook, account, token, events }
}

const createdBy = (body: Body) => (body as Body & { createdBy: string | null }).createdBy
const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id)
const idsIn = ({ webhooks, serviceAccounts, tokens }: Integrations) =>
  [webhooks, serviceAccounts, tokens].map(idsOf)

const { service, sql, owner } = await openScene(['Owner'])
const asRequest = ({ token }: { token: string }) =>
  new Request('http://localhost', { headers: { authorization: `Bearer ${token}` } })

test('webhooks, service accounts and tokens show the account that created them, while this account exists', async () => {
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

test('each change of a webhook, service account or token is an event that names its caller', async () => {
  const { admin, projectId, webhook, webhooks, account, token, events } = await openCreations(owner)
  const path = `${webhooks}/${webhook.id}`
  const created = (await events()).length
  await owner.patch(path, { url: `${unreachableUrl}/elsewhere`, types: ['task.created'] })
  await owner.patch(path, { types: ['task.created'] })
  await owner.post(`${path}/rotate`)
  await owner.post(`${path}/replay`, { after: 0 })
  await owner.patch(path, { enabled: false })
  await owner.delete(`${tokensPath(account)}/${token.id}`)
  await owner.delete(`${accountsPath(projectId)}/${account.id}`)
  await owner.delete(path)
  const all = await events()
  const actors = all.map(({ actor }) => actor.id)
  expect(actors).toEqual(all.map((_, n) => (n < created ? admin.id : owner.id)))
  const types = all.map(({ type, after }) => [type, ...(after?.changed ?? [])].join(' '))
  expect(types).toEqual([
    ...['webhook.created', 'service_account.created', 'member.invited', 'token.created'],
    ...['webhook.updated url types', 'webhook.updated secret', 'webhook.updated cursor'],
    ...['webhook.updated enabled', 'token.deleted', 'service_account.deleted', 'member.removed'],
    'webhook.deleted',
  ])
  expect((await owner.get(`/projects/${projectId}/history?entity=webhook`)).body).toHaveLength(6)
  const tokenEvents = await events('&types=token.created,token.deleted')
  expect(tokenEvents.map(({ entityId }) => entityId)).toEqual([token.id, token.id])
})

test('no event contains a URL, a secret, or the digest of a token', async () => {
  const { projectId, webhook, webhooks, token, events } = await openCreations(owner)
  await owner.post(`${webhooks}/${webhook.id}/rotate`)
  const [stored] = await sql<{ text: string }[]>`
    select string_agg(e::text, ' ') as text from events e where project_id = ${projectId}`
  const [hidden] = await sql<{ secret: string; formerSecret: string; digest: string }[]>`
    select w.secret, w.former_secret, t.digest from webhooks w, api_tokens t where w.id = ${webhook.id} and t.id = ${token.id}`
  const secrets = [(webhook as Body & { secret: string }).secret, token.token, ...Object.values(hidden!)]
  for (const text of [stored!.text, JSON.stringify(await events())])
    for (const secret of [...secrets, '127.0.0.1', 'path-secret', 'query-secret'])
      expect(text).not.toContain(secret)
})

test('events about webhooks, service accounts and tokens store null in the columns before and after', async () => {
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
  const undo = (body: object) => owner.post(`/projects/${projectId}/undo`, body)
  const invited = (await events()).find(({ type }) => type === 'member.invited')!
  expectError(await undo({ seq: invited.seq }), 409, /delete the service account$/)
  await owner.delete(`${member}?revoke=true`)
  const all = await events()
  for (const { seq, entity } of all) if (entity !== 'member') expectError(await undo({ seq }), 409)
  expectError(await undo({ batch: all.at(-1)!.batch }), 409)
})

test('removing a member lists the webhooks, service accounts and tokens that the member created, which stay valid', async () => {
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

test('removing a member with revoke=true revokes everything that the member created, in the same commit', async () => {
  const { projectId, member, admin, token, webhooks, events } = await openCreations(owner)
  const program = owner.as(token.token)
  const byProgram = await make(program, webhooks, { url: unreachableUrl })
  const other = (await make(owner, accountsPath(projectId), { name: 'Other' })) as Account
  const ownersToken = await makeToken(owner, {}, tokensPath(other))
  const adminsToken = await makeToken(admin, {}, tokensPath(other))
  const ownersWebhook = await make(owner, webhooks, { url: unreachableUrl })
  const before = (await events()).length
  // The caller as cached before the removal: the next request must also be rejected while the cached check is valid.
  const checkedCaller = await service.services.authenticate.caller(asRequest(token))
  const { status, body } = await owner.delete(`${member}?revoke=true`)
  const { stillWorking, revoked } = body as RemovalResponse
  expect([status, idsIn(stillWorking)]).toEqual([200, [[], [], []]])
  expect(idsOf(revoked.webhooks)).toContain(byProgram.id)
  expect(idsIn(revoked).map((list) => list.length)).toEqual([2, 1, 2])
  const removals = (await events()).slice(before)
  expect(removals.map(({ type }) => type).sort()).toEqual([
    ...['member.removed', 'member.removed', 'service_account.deleted'],
    ...['token.deleted', 'webhook.deleted', 'webhook.deleted'],
  ])
  expect(new Set(removals.map(({ batch }) => batch)).size).toBe(1)
  const invitation = { email: admin.email, role: 'ADMIN' }
  const check = spyOn(service.services.authenticate, 'caller').mockReturnValue(checkedCaller)
  expectError(await program.post(`/projects/${projectId}/members/invite`, invitation), 404)
  check.mockRestore()
  for (const revokedToken of [token, adminsToken])
    await eventually('the rejection of the token', async () => {
      return (await owner.as(revokedToken.token).get('/auth/me')).status === 401
    })
  expect((await owner.as(ownersToken.token).get(`/projects/${projectId}`)).status).toBe(200)
  expect(idsOf((await owner.get(webhooks)).body)).toEqual([ownersWebhook.id])
  expect(idsOf((await owner.get(accountsPath(projectId))).body)).toEqual([other.id])
})

test('deleting a service account with revoke=true revokes everything that the account created', async () => {
  const { projectId, account, token, webhooks, webhook } = await openCreations(owner)
  const byProgram = await make(owner.as(token.token), webhooks, { url: unreachableUrl })
  const { body } = await owner.delete(`${accountsPath(projectId)}/${account.id}?revoke=true`)
  expect(idsIn((body as RemovalResponse).revoked)).toEqual([[byProgram.id], [], []])
  expect(idsOf((await owner.get(webhooks)).body)).toEqual([webhook.id])
})

test('revoke=true requires the role ADMIN, also when a member removes itself', async () => {
  const { admin, projectId, member, webhooks } = await openCreations(owner)
  await owner.patch(`${member}/role`, { role: 'VIEWER' })
  expectError(await admin.delete(`${member}?revoke=true`), 403, 'This needs the role ADMIN in the project')
  expectError(await admin.delete(`${member}?revoke=1`), 400, /^revoke must be/)
  const { stillWorking } = (await admin.delete(member)).body as RemovalResponse
  expect(stillWorking.webhooks).toHaveLength(1)
  expect((await owner.get(webhooks)).body).toHaveLength(1)
  expect((await owner.get(`/projects/${projectId}/members`)).status).toBe(200)
})

test('a batch can remove a member with revoke=true, and a retry of a removal returns the same lists', async () => {
  const { projectId, memberId, webhooks } = await openCreations(owner)
  const operations = [{ op: 'member.remove', memberId, revoke: 'true' }]
  const response = await owner.post(`/projects/${projectId}/batch?return=full`, { operations })
  expect(response.status).toBe(200)
  for (const path of [webhooks, accountsPath(projectId)]) expect((await owner.get(path)).body).toHaveLength(0)
  const { member } = await openCreations(owner)
  const key = { 'idempotency-key': 'once' }
  const first = await owner.delete(`${member}?revoke=true`, key)
  expectResponse(await owner.delete(`${member}?revoke=true`, key), 200, first.body)
})

test('applying the events of all projects in this test gives the stored rows', async () => {
  expect(await faultsOf(sql)).toEqual([])
})

service.startWorkers()

const isRejected = async (token: { token: string }) =>
  (await owner.as(token.token).get('/auth/me')).status === 401

test("revoke=true also deletes what a member's service accounts created, even if these accounts were deleted before", async () => {
  const { admin, projectId, account, token, member, webhooks } = await openCreations(owner)
  const program = admin.as(token.token)
  const second = (await make(program, accountsPath(projectId), { name: 'Second', role: 'ADMIN' })) as Account
  const secondToken = await makeToken(admin, {}, tokensPath(second))
  const secondProgram = admin.as(secondToken.token)
  const fields = { name: 'Third', role: 'ADMIN' }
  const third = (await make(secondProgram, accountsPath(projectId), fields)) as Account
  const tokenOfThird = await makeToken(owner, {}, tokensPath(third))
  const hook = await make(program, webhooks, { url: unreachableUrl })
  for (const { id } of [account, second])
    expect((await admin.delete(`${accountsPath(projectId)}/${id}`)).status).toBe(200)
  await untilOutboxEmpty(sql)
  const operations = [{ op: 'member.remove', memberId: member.split('/').at(-1) }]
  const { body } = await owner.post(`/projects/${projectId}/batch?dryRun=true&return=full`, { operations })
  const { results } = body as unknown as { results: RemovalResponse[] }
  expect(idsIn(results[0]!.stillWorking)[1]).toEqual([third.id])
  const { revoked } = (await owner.delete(`${member}?revoke=true`)).body as RemovalResponse
  expect(idsIn(revoked)[0]).toContain(hook.id)
  expect(idsIn(revoked)[1]).toEqual([third.id])
  expect((await owner.get(webhooks)).body).toHaveLength(0)
  await eventually('the rejection of the token', () => isRejected(tokenOfThird))
  await eventually('the deletion of the accounts', async () => {
    return (await sql`select from users where project_id = ${projectId}`).length === 0
  })
})

test('revoke=true revokes all tokens that a member created, also thousands of tokens of several service accounts', async () => {
  const { admin, projectId, account, member } = await openCreations(owner)
  await sql`
    insert into api_tokens (id, user_id, version, slot, digest, name, scopes, expires_at, created_by, created_at)
    select lpad(n::text, 32, '0')::uuid, ${account.id}::uuid, 0, n, n || ${account.id}::text, 'T', 'read', now() + interval '1 day', ${admin.id}::uuid, now()
    from generate_series(1000, 7000) n`
  const other = (await make(owner, accountsPath(projectId), { name: 'Other' })) as Account
  const lent = await Promise.all(upTo(5).map(() => makeToken(admin, {}, tokensPath(other))))
  expect((await owner.delete(`${member}?revoke=true`)).status).toBe(200)
  for (const token of lent) await eventually('the rejection of the token', () => isRejected(token))
})
