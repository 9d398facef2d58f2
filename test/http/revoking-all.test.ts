import { eventually, make, makeToken, openScene, unreachableUrl, upTo } from '../kit.ts'
import { untilOutboxEmpty } from '../workers/remains.ts'
import { idsIn, openCreations, type RemovalResponse } from './creations-scene.ts'
import { type Account, accountsPath, tokensPath } from './account-scene.ts'

const { service, sql, owner } = await openScene(['Owner'])
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
