import { beforeEach, expect, test } from 'bun:test'
import { type Answer, type Body, make, openClient, register } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { openPair, type Pair, upTo, statuses } from './pair.ts'
import { forFile } from '../support/service.ts'

let project: Body
let task: Body
const pair = await forFile(openPair())
beforeEach(async () => {
  project = await make(pair.atA, '/projects', { name: 'Contended' })
  task = await make(pair.atA, '/tasks', { title: 'Contended', projectId: project.id })
})

const both = (n: number, send: (client: Pair['atA'], n: number) => Promise<Answer>) =>
  Promise.all(upTo(n).map((i) => send(i % 2 ? pair.atA : pair.atB, i)))

test('concurrent changes of different fields of one task are all stored', async () => {
  for (const n of upTo(20)) {
    const dueDate = `2030-01-01T00:00:${String(n).padStart(2, '0')}.000Z`
    const changes: object[] = [
      { title: `Title ${n}` },
      { description: `Words ${n}` },
      { dueDate },
      { priority: n % 2 ? 'HIGH' : 'LOW' },
      { status: n % 2 ? 'DONE' : 'IN_PROGRESS' },
      { assigneeId: n % 2 ? pair.atA.id : null },
    ]
    const answers = await both(changes.length, (client, i) =>
      client.patch(`/tasks/${task.id}`, changes[i - 1]),
    )
    expect(statuses(answers)).toEqual({ 200: changes.length })
    const { body } = await pair.atB.get(`/tasks/${task.id}`)
    expect(body).toMatchObject(Object.assign({}, ...changes))
  }
  expect(await faultsOf(pair.sql)).toEqual([])
})

test.each([50, 51])('each of %d concurrent toggles takes effect once', async (toggles) => {
  const subtask = await make(pair.atA, `/tasks/${task.id}/subtasks`, { title: 'Flip' })
  const answers = await both(toggles, (client) => client.patch(`/tasks/subtasks/${subtask.id}/toggle`))
  expect(statuses(answers)).toEqual({ 200: toggles })
  const { body } = await pair.atA.get(`/tasks/${task.id}/subtasks`)
  expect(body[0]?.completed).toBe(toggles % 2 === 1)
  expect(answers.filter(({ body }) => body.completed)).toHaveLength(Math.ceil(toggles / 2))
  const events =
    await pair.sql`select 1 from events where type = 'subtask.toggled' and entity_id = ${subtask.id}`
  expect(events).toHaveLength(toggles)
  expect(await faultsOf(pair.sql)).toEqual([])
})

test('one of many concurrent invitations of a user succeeds, the others return 409', async () => {
  const guest = await register(openClient(pair.b.url))
  const path = `/projects/${project.id}/members/invite`
  const answers = await both(20, (client) => client.post(path, { email: guest.email, role: 'EDITOR' }))
  expect(statuses(answers)).toEqual({ 201: 1, 409: 19 })
  const { body } = await pair.atB.get(`/projects/${project.id}/members`)
  expect(body).toHaveLength(1)
})

test('one of many concurrent deletions of a task or project succeeds, the others return 404', async () => {
  for (const path of [`/tasks/${task.id}`, `/projects/${project.id}`])
    expect(statuses(await both(20, (client) => client.delete(path)))).toEqual({ 200: 1, 404: 19 })
  expect(await faultsOf(pair.sql)).toEqual([])
  const jobs = await pair.sql`select from outbox where project_id = ${project.id} and name = 'purge-project'`
  expect(jobs).toHaveLength(1)
})

test('one of many concurrent registrations of an email address succeeds, the others return 409', async () => {
  const account = { name: 'Twin', email: `twin-${project.id}@example.com`, password: 'secret-1' }
  const answers = await both(8, (client) => client.as().post('/auth/register', account))
  expect(statuses(answers)).toEqual({ 201: 1, 409: 7 })
})

test('a write after the deletion of its project stores no row', async () => {
  const { id: projectId } = project
  const [created, deleted] = await Promise.all([
    both(40, (client, n) => client.post('/tasks', { title: `Late ${n}`, projectId })),
    pair.atB.delete(`/projects/${projectId}`),
  ])
  expect(deleted.status).toBe(200)
  const { 201: before = 0, 404: after = 0 } = statuses(created)
  expect(before + after).toBe(40)
  const rows = await pair.sql`select 1 from tasks where project_id = ${projectId}`
  expect(rows).toHaveLength(before + 1)
  const last = await pair.sql<{ type: string }[]>`
    select type from events where project_id = ${projectId} order by seq desc limit 1`
  expect(last[0]?.type).toBe('project.deleted')
})
