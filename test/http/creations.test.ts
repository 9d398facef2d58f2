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

const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id)
const idsIn = ({ webhooks, serviceAccounts, tokens }: Integrations) =>
  [webhooks, serviceAccounts, tokens].map(idsOf)
const isRejected = async ({ token }: { token: string }) =>
  (await owner.as(token).get('/auth/me')).status === 401
const untilRejected = (token: { token: string }) =>
  eventually('the rejection of the token', () => isRejected(token))

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
})

/** Adds tokens that are older than all others. */
const addOldTokens = ({ id }: Account, createdBy: Person, count: number) => sql`
  insert into api_tokens (id, user_id, version, slot, digest, name, scopes, expires_at, created_by, created_at)
  select lpad(n::text, 32, '0')::uuid, ${id}::uuid, 0, n, n || ${id}::text, 'T', 'read', now() + interval '1 day', ${createdBy.id}::uuid, now()
  from generate_series(1000, 999 + ${count}::int) n`

test('revoke=true revokes all tokens that a member created, also thousands of tokens of several service accounts', async () => {
  const { admin, projectId, account, member } = await openCreations()
  await addOldTokens(account, admin, 6_001)
  const other = await addAccount(owner, projectId, 'Other')
  const lent = await Promise.all(upTo(5).map(() => addToken(admin, other)))
  expect((await owner.delete(`${member}?revoke=true`)).status).toBe(200)
  for (const token of lent) await untilRejected(token)
  await sql`delete from api_tokens where user_id = ${account.id}`
})

test('revoke=true in a batch revokes tokens of accounts that the removal of another member keeps', async () => {
  const { admin, projectId, account, memberId } = await openCreations()
  await addOldTokens(account, admin, 100)
  const other = await register(owner.as(), 'Other')
  const { id: otherId } = await invite(owner, projectId, other, 'ADMIN')
  const kept = await addAccount(other, projectId, 'Kept')
  const [ofOther, lent] = [await addToken(other, kept), await addToken(admin, kept)]
  const operations = [
    { op: 'member.remove', memberId: otherId },
    { op: 'member.remove', memberId, revoke: 'true' },
  ]
  expect((await owner.post(`/projects/${projectId}/batch`, { operations })).status).toBe(200)
  await untilRejected(lent)
  expect(await isRejected(ofOther)).toBe(false)
})

test('the removal of a member lists no token that has expired', async () => {
  const { projectId, memberId, member, webhook, account, token } = await openCreations()
  const operations = [{ op: 'member.remove', memberId }]
  expect((await owner.post(`/projects/${projectId}/batch?dryRun=true`, { operations })).status).toBe(200)
  await sql`update api_tokens set expires_at = now() - interval '1 hour' where id = ${token.id}`
  const { stillWorking } = (await owner.delete(member)).body as RemovalResponse
  expect(idsIn(stillWorking)).toEqual([[webhook.id], [account.id], []])
})
