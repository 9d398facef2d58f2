import { nilId } from '../../src/id-format.ts'
import { expectError, expectResponse, faultsOf, invite, make, openScene, openTestService } from '../kit.ts'
import { makeToken, register } from '../kit.ts'
import type { Sql } from '../kit.ts'
import { closeAccount } from '../../workers/cascade.ts'
import { expireKeys, orphanMembers, orphanProjects, queueOrphanJobs } from '../../workers/cleanup.ts'
import { openMailScene } from '../mail/scene.ts'
import { rowsWith, untilOutboxEmpty } from '../workers/remains.ts'

const { service, client, sql } = await openScene()
service.startWorkers()

const deleted = { message: 'Account deleted successfully' }
const batchOptions = { batchRows: 10, pauseMs: 0 }

async function closeOrphanedAccounts(sql: Sql): Promise<number> {
  const owners = await queueOrphanJobs(sql, orphanProjects, nilId, 1_000)
  return owners.queued + (await queueOrphanJobs(sql, orphanMembers, nilId, 1_000)).queued
}

/** Creates a project of Ada, and a project of Grace in which Ada is a member with a task and a comment. */
async function createAccounts(from = client) {
  const [ada, grace] = await Promise.all([register(from), register(from)])
  const own = await make(ada, '/projects', { name: 'Mine' })
  await invite(ada, own.id, grace, 'EDITOR')
  const shared = await make(grace, '/projects', { name: 'Ours' })
  await invite(grace, shared.id, ada, 'EDITOR')
  const task = await make(ada, '/tasks', { title: 'T', projectId: shared.id, assigneeId: ada.id })
  const comment = await make(ada, `/tasks/${task.id}/comments`, { text: 'Hm' })
  return { ada, grace, own, shared, task, comment }
}

const removals = (projectId: string) => sql<{ actor: string }[]>`
  select actor_id as actor from events where type = 'member.removed' and project_id = ${projectId}`

test('a deleted account can no longer sign in, and its email address can be registered again', async () => {
  const { ada, grace, own, shared } = await createAccounts()
  expectResponse(await ada.delete('/auth/me'), 200, deleted)
  expectError(await ada.get('/auth/me'), 401)
  expectError(await ada.delete('/auth/me'), 401)
  const account = { name: 'Ada', email: ada.email, password: 'secret-1' }
  expectError(await ada.post('/auth/login', account), 401, 'Wrong email or password')
  const second = await make(client, '/auth/register', account)
  expect(second.user.id).not.toBe(ada.id)
  await untilOutboxEmpty(sql)
  for (const { id } of [own, shared])
    expect((await client.as(second.access_token).get(`/projects/${id}`)).status).toBe(404)
  expect((await grace.get(`/projects/${shared.id}`)).status).toBe(200)
})

test('deleting an account removes its projects and memberships, and keeps its comments without an author', async () => {
  const { ada, grace, own, shared, task, comment } = await createAccounts()
  const path = `/tasks/${task.id}/comments`
  const before = await grace.get(path)
  expectResponse(before, 200, [{ ...comment, authorRemoved: false }])
  await ada.delete('/auth/me')
  const after = await grace.get(path, { 'if-none-match': before.headers.get('etag')! })
  expectResponse(after, 200, [{ ...comment, author: null, authorRemoved: true }])
  await untilOutboxEmpty(sql)
  expectError(await grace.get(`/projects/${own.id}`), 404)
  expectResponse(await grace.get(`/projects/${shared.id}/members`), 200, [])
  expect((await grace.get(`/tasks/${task.id}`)).body.assigneeId).toBeNull()
  expect(await removals(shared.id)).toEqual([{ actor: ada.id }] as never)
  expect(await faultsOf(sql)).toEqual([])
})

test('the deletion job can run several times, and does not affect an existing account', async () => {
  const { ada, grace, own, shared } = await createAccounts()
  const close = () => closeAccount(sql, service.services.run, { userId: ada.id }, batchOptions)
  await close()
  expect((await ada.get(`/projects/${own.id}`)).status).toBe(200)
  await sql`delete from users where id = ${ada.id}`
  await Promise.all([close(), close(), close()])
  await close()
  expect(await removals(shared.id)).toHaveLength(1)
  expectError(await grace.get(`/projects/${own.id}`), 404)
  expectResponse(await grace.get(`/projects/${shared.id}/members`), 200, [])
})

test('the recurring cleanup removes rows that a deleted account wrote after its deletion job ran', async () => {
  await using service = await openTestService()
  const sql = service.services.database.background
  const { ada, own } = await createAccounts(service.client)
  await sql`delete from users where id = ${ada.id}`
  expect(await closeOrphanedAccounts(sql)).toBe(1)
  service.startWorkers()
  await untilOutboxEmpty(sql)
  expect(await sql`select 1 from projects where id = ${own.id}`).toHaveLength(0)
  expect(await sql`select 1 from members where user_id = ${ada.id}`).toHaveLength(0)
  expect(await closeOrphanedAccounts(sql)).toBe(0)
})

test('one statement deletes the account and inserts its deletion job', async () => {
  const { ada } = await createAccounts()
  await sql`alter table outbox add constraint broken check (name <> 'close-account')`
  try {
    expectError(await ada.delete('/auth/me'), 500)
    expect((await ada.get('/auth/me')).status).toBe(200)
  } finally {
    await sql`alter table outbox drop constraint broken`
  }
  expectResponse(await ada.delete('/auth/me'), 200, deleted)
  await untilOutboxEmpty(sql)
})

test('after the deletion of an account, no table has its email address, besides stored replies to other accounts', async () => {
  await using scene = await openMailScene()
  const { client, server, sql, service } = scene
  const email = 'ada.lovelace@example.com'
  const keyed = (name: string) => ({ 'idempotency-key': name })
  const account = { name: 'Ada', email, password: 'secret-1' }
  const { body } = await client.post('/auth/register', account, keyed('register'))
  const ada = { ...client.as(body.access_token), id: body.user.id, email }
  await client.post('/auth/login', account, keyed('login'))
  await client.post('/auth/email/verify', { token: (await server.mail(email)).token }, keyed('verify'))
  await client.post('/auth/password/forgot', { email }, keyed('forgot'))
  await server.mail(email, 2)
  const grace = await register(client)
  const own = await make(ada, '/projects', { name: 'Mine' })
  await ada.post('/projects', { name: 'Keyed' }, keyed('project'))
  const token = client.as((await makeToken(ada)).token)
  await token.patch(`/projects/${own.id}`, { name: 'Ours' }, keyed('rename'))
  const shared = await make(grace, '/projects', { name: 'Ours' })
  await grace.post(`/projects/${shared.id}/members/invite`, { email, role: 'EDITOR' }, keyed('invite'))
  const task = await make(ada, '/tasks', { projectId: shared.id, title: 'T', assigneeId: ada.id })
  await make(ada, `/tasks/${task.id}/comments`, { text: 'Hm' })
  await ada.post(`/tasks/${task.id}/claim`, { leaseSeconds: 60 })
  await ada.post(`/projects/${shared.id}/imports?source=csv`, 'title\nT\n', { 'content-type': 'text/csv' })
  await make(ada, `/projects/${own.id}/webhooks`, { url: server.url.replace('smtp', 'http') })
  await untilOutboxEmpty(sql)
  const removal = () => ada.call('DELETE', '/auth/me', { password: 'secret-1' }, keyed('delete'))
  expect((await removal()).status).toBe(200)
  await untilOutboxEmpty(sql)
  expect((await removal()).status).toBe(200)
  expect(await rowsWith(sql, [email])).toEqual({ idempotency_keys: 1 })
  await sql`update idempotency_keys set created_at = now() - interval '25 hours'`
  await expireKeys(service.services.database.background, 24, batchOptions)
  expect(await rowsWith(sql, [email])).toEqual({})
})
