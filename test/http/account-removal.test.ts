import { expect, test } from 'bun:test'
import { nilId } from '../../src/ids.ts'
import { closeAccount } from '../../workers/close-account.ts'
import { leftMembers, leftOwners, lookAfter } from '../../workers/left-behind.ts'
import { eventually } from '../races/pair.ts'
import { invite, make, register } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { expectResponse, expectError } from './responses.ts'
import { openScene } from '../support/scene.ts'

const { service, client, sql } = await openScene()
service.startWorkers()

const settled = () =>
  eventually('an empty outbox', async () => (await sql`select 1 from outbox`).length === 0)
const deleted = { message: 'Account deleted successfully' }
/** How many accounts the recurring look over owners and members finds. */
async function closeLeftAccounts(): Promise<number> {
  const owners = await lookAfter(sql, leftOwners, nilId, 1_000)
  return owners.asked + (await lookAfter(sql, leftMembers, nilId, 1_000)).asked
}
const pace = { batchRows: 10, pauseMs: 0 }

/** Somebody who owns a project, and writes in the project of another. */
async function scene() {
  const [ada, grace] = await Promise.all([register(client), register(client)])
  const own = await make(ada, '/projects', { name: 'Mine' })
  await invite(ada, own.id, grace, 'EDITOR')
  const shared = await make(grace, '/projects', { name: 'Ours' })
  await invite(grace, shared.id, ada, 'EDITOR')
  const task = await make(ada, '/tasks', { title: 'T', projectId: shared.id, assigneeId: ada.id })
  const comment = await make(ada, `/tasks/${task.id}/comments`, { text: 'Hm' })
  return { ada, grace, own, shared, task, comment }
}

test('a deleted account is gone at once, and its address is free', async () => {
  const { ada, grace, own, shared } = await scene()
  expectResponse(await ada.delete('/auth/me'), 200, deleted)
  expectError(await ada.get('/auth/me'), 401)
  expectError(await ada.delete('/auth/me'), 401)
  const account = { name: 'Ada', email: ada.email, password: 'secret-1' }
  expectError(await ada.post('/auth/login', account), 401, 'Wrong email or password')
  const again = await make(client, '/auth/register', account)
  expect(again.user.id).not.toBe(ada.id)
  await settled()
  for (const { id } of [own, shared])
    expect((await client.as(again.access_token).get(`/projects/${id}`)).status).toBe(404)
  expect((await grace.get(`/projects/${shared.id}`)).status).toBe(200)
})

test('its projects and memberships end, its words stay with the author shown as removed', async () => {
  const { ada, grace, own, shared, task, comment } = await scene()
  const path = `/tasks/${task.id}/comments`
  const before = await grace.get(path)
  expectResponse(before, 200, [{ ...comment, authorRemoved: false }])
  await ada.delete('/auth/me')
  const after = await grace.get(path, { 'if-none-match': before.headers.get('etag')! })
  expectResponse(after, 200, [{ ...comment, author: null, authorRemoved: true }])
  await settled()
  expectError(await grace.get(`/projects/${own.id}`), 404)
  expectResponse(await grace.get(`/projects/${shared.id}/members`), 200, [])
  expect((await grace.get(`/tasks/${task.id}`)).body.assigneeId).toBeNull()
  const [{ actor } = { actor: '' }] = await sql<{ actor: string }[]>`
    select actor_id as actor from events where type = 'member.removed' and project_id = ${shared.id}`
  expect(actor).toBe(ada.id)
  expect(await faultsOf(sql)).toEqual([])
})

test('the job is safe twice, and leaves a living account alone', async () => {
  const { ada, grace, own, shared } = await scene()
  const { run } = service.services
  await closeAccount(sql, run, ada.id, pace)
  expect((await ada.get(`/projects/${own.id}`)).status).toBe(200)
  await sql`delete from users where id = ${ada.id}`
  await Promise.all([1, 2, 3].map(() => closeAccount(sql, run, ada.id, pace)))
  await closeAccount(sql, run, ada.id, pace)
  const ends = await sql`select 1 from events where type = 'member.removed' and project_id = ${shared.id}`
  expect(ends).toHaveLength(1)
  expectError(await grace.get(`/projects/${own.id}`), 404)
  expectResponse(await grace.get(`/projects/${shared.id}/members`), 200, [])
})

test('a write that came after the job is found by the recurring cleanup', async () => {
  const { ada, own } = await scene()
  await sql`delete from users where id = ${ada.id}`
  expect(await closeLeftAccounts()).toBe(1)
  await settled()
  expect(await sql`select 1 from projects where id = ${own.id}`).toHaveLength(0)
  expect(await sql`select 1 from members where user_id = ${ada.id}`).toHaveLength(0)
  expect(await closeLeftAccounts()).toBe(0)
})

test('the account and the job it owes go in one statement', async () => {
  const { ada } = await scene()
  await sql`alter table outbox add constraint broken check (name <> 'close-account')`
  try {
    expectError(await ada.delete('/auth/me'), 500)
    expect((await ada.get('/auth/me')).status).toBe(200)
  } finally {
    await sql`alter table outbox drop constraint broken`
  }
  expectResponse(await ada.delete('/auth/me'), 200, deleted)
  await settled()
})
