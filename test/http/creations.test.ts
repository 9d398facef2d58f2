import { expect, spyOn, test } from 'bun:test'
import { eventually, expectError, expectResponse, faultsOf, invite, make, makeToken } from '../kit.ts'
import { openScene, readFeed, register, unreachableUrl, upTo } from '../kit.ts'
import type { Body, Person } from '../kit.ts'
import { type Account, accountsPath, tokensPath } from './account-scene.ts'
import { untilOutboxEmpty } from '../workers/remains.ts'

type Integrations = { webhooks: Body; serviceAccounts: Body; tokens: Body }
type RemovalResponse = Body & { stillWorking: Integrations; revoked: Integrations }

const { service, sql, owner } = await openScene(['Owner'])

const addAccount = async (by: Pick<Person, 'post'>, projectId: string, name: string) =>
  (await make(by as Person, accountsPath(projectId), { name, role: 'ADMIN' })) as Account
const addToken = (by: Person, account: Account) => makeToken(by, {}, tokensPath(account))

/** Creates a project with an ADMIN, who creates a webhook, a service account and a token for the service account. */
async function openCreations() {
  const admin = await register(owner.as(), 'Admin')
  const { id: projectId } = await make(owner, '/projects', { name: 'Engine' })
  const { id: memberId } = await invite(owner, projectId, admin, 'ADMIN')
  const webhooks = `/projects/${projectId}/webhooks`
  const webhook = await make(admin, webhooks, { url: `${unreachableUrl}/path-secret?key=query-secret` })
  const account = await addAccount(admin, projectId, 'Importer')
  const token = await addToken(admin, account)
  return {
    ...{ projectId, admin, memberId, webhooks, webhook, account, token },
    member: `/projects/${projectId}/members/${memberId}`,
    accounts: accountsPath(projectId),
    events: (query = '') => readFeed(owner, `/projects/${projectId}/events?after=2${query}`),
  }
}

const createdBy = (body: Body) => (body as Body & { createdBy: string | null }).createdBy
const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id)
const idsIn = ({ webhooks, serviceAccounts, tokens }: Integrations) =>
  [webhooks, serviceAccounts, tokens].map(idsOf)
const isRejected = async ({ token }: { token: string }) =>
  (await owner.as(token).get('/auth/me')).status === 401
const untilRejected = (token: { token: string }) =>
  eventually('the rejection of the token', () => isRejected(token))

test('webhooks, service accounts and tokens show the account that created them, while this account exists', async () => {
  const { admin, accounts, webhook, webhooks, account, token } = await openCreations()
  const reads = [`${webhooks}/${webhook.id}`, webhooks, accounts, tokensPath(account)]
  const creators = async () =>
    (await Promise.all(reads.map((path) => owner.get(path)))).map(({ body }) => createdBy([body].flat()[0]!))
  const own = await makeToken(admin)
  const shown = [webhook, account, token, own, (await admin.get('/tokens')).body[0]!].map(createdBy)
  expect([...shown, ...(await creators())]).toEqual(Array(9).fill(admin.id))
  expect((await admin.delete('/auth/me')).status).toBe(200)
  expect(await creators()).toEqual([null, null, null, null])
})

test('each change of a webhook, service account or token is an event that names its caller, and cannot be undone', async () => {
  const { admin, projectId, webhook, webhooks, accounts, account, token, events } = await openCreations()
  const undo = (body: object) => owner.post(`/projects/${projectId}/undo`, body)
  const path = `${webhooks}/${webhook.id}`
  const before = await events()
  const invited = before.find(({ type }) => type === 'member.invited')!
  expectError(await undo({ seq: invited.seq }), 409, /delete the service account$/)
  await owner.patch(path, { url: `${unreachableUrl}/elsewhere`, types: ['task.created'] })
  await owner.patch(path, { types: ['task.created'] })
  await owner.post(`${path}/rotate`)
  await owner.post(`${path}/replay`, { after: 0 })
  await owner.patch(path, { enabled: false })
  await owner.delete(`${tokensPath(account)}/${token.id}`)
  await owner.delete(`${accounts}/${account.id}`)
  await owner.delete(path)
  const all = await events()
  const actors = all.map((_, n) => (n < before.length ? admin.id : owner.id))
  expect(all.map(({ actor }) => actor.id)).toEqual(actors)
  const types = all.map(({ type, after }) => [type, ...((after?.changed as string[]) ?? [])].join(' '))
  expect(types).toEqual([
    ...['webhook.created', 'service_account.created', 'member.invited', 'token.created'],
    ...['webhook.updated url types', 'webhook.updated secret', 'webhook.updated cursor'],
    ...['webhook.updated enabled', 'token.deleted', 'service_account.deleted', 'member.removed'],
    'webhook.deleted',
  ])
  expect((await owner.get(`/projects/${projectId}/history?entity=webhook`)).body).toHaveLength(6)
  const tokenEvents = await events('&types=token.created,token.deleted')
  expect(tokenEvents.map(({ entityId }) => entityId)).toEqual([token.id, token.id])
  for (const { seq, entity } of all) if (!/member|project/.test(entity)) expectError(await undo({ seq }), 409)
})

test('no event contains a URL, a secret, or the digest of a token', async () => {
  const { projectId, webhook, webhooks, token, events } = await openCreations()
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

test('removing a member lists the webhooks, service accounts and tokens that the member created, which stay valid', async () => {
  const { projectId, member, webhook, account, token, webhooks } = await openCreations()
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
  const { projectId, member, admin, token, accounts, webhooks, events } = await openCreations()
  const program = owner.as(token.token)
  const byProgram = await make(program, webhooks, { url: unreachableUrl })
  const other = await addAccount(owner, projectId, 'Other')
  const [ownersToken, adminsToken] = [await addToken(owner, other), await addToken(admin, other)]
  const ownersWebhook = await make(owner, webhooks, { url: unreachableUrl })
  const before = (await events()).length
  const headers = { authorization: `Bearer ${token.token}` }
  // The caller as cached before the removal: the next request must also be rejected while the cached check is valid.
  const caller = await service.services.authenticate.caller(new Request('http://localhost', { headers }))
  const key = { 'idempotency-key': 'once' }
  const first = await owner.delete(`${member}?revoke=true`, key)
  const { stillWorking, revoked } = first.body as RemovalResponse
  expect([first.status, idsIn(stillWorking)]).toEqual([200, [[], [], []]])
  expectResponse(await owner.delete(`${member}?revoke=true`, key), 200, first.body)
  expect(idsOf(revoked.webhooks)).toContain(byProgram.id)
  expect(idsIn(revoked).map((list) => list.length)).toEqual([2, 1, 2])
  const removals = (await events()).slice(before)
  expect(removals.map(({ type }) => type).sort()).toEqual([
    ...['member.removed', 'member.removed', 'service_account.deleted'],
    ...['token.deleted', 'webhook.deleted', 'webhook.deleted'],
  ])
  expect(new Set(removals.map(({ batch }) => batch)).size).toBe(1)
  expectError(await owner.post(`/projects/${projectId}/undo`, { batch: removals[0]!.batch }), 409)
  const invitation = { email: admin.email, role: 'ADMIN' }
  const check = spyOn(service.services.authenticate, 'caller').mockReturnValue(caller)
  expectError(await program.post(`/projects/${projectId}/members/invite`, invitation), 404)
  check.mockRestore()
  for (const one of [token, adminsToken]) await untilRejected(one)
  expect((await owner.as(ownersToken.token).get(`/projects/${projectId}`)).status).toBe(200)
  expect(idsOf((await owner.get(webhooks)).body)).toEqual([ownersWebhook.id])
  expect(idsOf((await owner.get(accounts)).body)).toEqual([other.id])
})

test('deleting a service account with revoke=true revokes everything that the account created', async () => {
  const { accounts, account, token, webhooks, webhook } = await openCreations()
  const byProgram = await make(owner.as(token.token), webhooks, { url: unreachableUrl })
  const { body } = await owner.delete(`${accounts}/${account.id}?revoke=true`)
  expect(idsIn((body as RemovalResponse).revoked)).toEqual([[byProgram.id], [], []])
  expect(idsOf((await owner.get(webhooks)).body)).toEqual([webhook.id])
})

test('revoke=true requires the role ADMIN, also when a member removes itself, and works in a batch', async () => {
  const { admin, projectId, accounts, member, memberId, webhooks } = await openCreations()
  await owner.patch(`${member}/role`, { role: 'VIEWER' })
  expectError(await admin.delete(`${member}?revoke=true`), 403, 'This needs the role ADMIN in the project')
  expectError(await admin.delete(`${member}?revoke=1`), 400, /^revoke must be/)
  const operations = [{ op: 'member.remove', memberId, revoke: 'true' }]
  expect((await owner.post(`/projects/${projectId}/batch?return=full`, { operations })).status).toBe(200)
  for (const path of [webhooks, accounts]) expect((await owner.get(path)).body).toHaveLength(0)
  const left = await openCreations()
  await owner.patch(`${left.member}/role`, { role: 'VIEWER' })
  const { stillWorking } = (await left.admin.delete(left.member)).body as RemovalResponse
  expect([stillWorking.webhooks.length, (await owner.get(left.webhooks)).body.length]).toEqual([1, 1])
})

test("revoke=true also deletes what a member's service accounts created, even if these accounts were deleted before", async () => {
  expect(await faultsOf(sql)).toEqual([])
  service.startWorkers()
  const { admin, projectId, accounts, account, token, member, memberId, webhooks } = await openCreations()
  const program = admin.as(token.token)
  const second = await addAccount(program, projectId, 'Second')
  const secondToken = await addToken(admin, second)
  const third = await addAccount(admin.as(secondToken.token), projectId, 'Third')
  const tokenOfThird = await addToken(owner, third)
  const hook = await make(program, webhooks, { url: unreachableUrl })
  for (const { id } of [account, second]) expect((await admin.delete(`${accounts}/${id}`)).status).toBe(200)
  await untilOutboxEmpty(sql)
  const operations = [{ op: 'member.remove', memberId }]
  const { body } = await owner.post(`/projects/${projectId}/batch?dryRun=true&return=full`, { operations })
  const { results } = body as unknown as { results: RemovalResponse[] }
  expect(idsIn(results[0]!.stillWorking)[1]).toEqual([third.id])
  const { revoked } = (await owner.delete(`${member}?revoke=true`)).body as RemovalResponse
  expect(idsIn(revoked)[0]).toContain(hook.id)
  expect(idsIn(revoked)[1]).toEqual([third.id])
  expect((await owner.get(webhooks)).body).toHaveLength(0)
  await untilRejected(tokenOfThird)
  await eventually('the deletion of the accounts', async () => {
    return (await sql`select from users where project_id = ${projectId}`).length === 0
  })
})

test('revoke=true revokes all tokens that a member created, also thousands of tokens of several service accounts', async () => {
  const { admin, projectId, account, member } = await openCreations()
  await sql`
    insert into api_tokens (id, user_id, version, slot, digest, name, scopes, expires_at, created_by, created_at)
    select lpad(n::text, 32, '0')::uuid, ${account.id}::uuid, 0, n, n || ${account.id}::text, 'T', 'read', now() + interval '1 day', ${admin.id}::uuid, now()
    from generate_series(1000, 7000) n`
  const other = await addAccount(owner, projectId, 'Other')
  const lent = await Promise.all(upTo(5).map(() => addToken(admin, other)))
  expect((await owner.delete(`${member}?revoke=true`)).status).toBe(200)
  for (const token of lent) await untilRejected(token)
})

test('the removal of a member lists no token that has expired', async () => {
  const { projectId, memberId, member, webhook, account, token } = await openCreations()
  const operations = [{ op: 'member.remove', memberId }]
  expect((await owner.post(`/projects/${projectId}/batch?dryRun=true`, { operations })).status).toBe(200)
  await sql`update api_tokens set expires_at = now() - interval '1 hour' where id = ${token.id}`
  const { stillWorking } = (await owner.delete(member)).body as RemovalResponse
  expect(idsIn(stillWorking)).toEqual([[webhook.id], [account.id], []])
})
