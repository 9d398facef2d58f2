import { at, cases, faultsOf, invite, make, openClient, openPair, register, statuses, upTo } from '../kit.ts'
import type { Answer, Body, Pair, Person } from '../kit.ts'

let guest: Person
let project: Body
let member: Body
let task: Body
const rounds = cases(10)
// The guest writes at process B, so that B has the project cached when A changes the roles.
const pair = await openPair()
beforeEach(async () => {
  guest = at(await register(openClient(pair.a.url)), pair.b)
  project = await make(pair.atA, '/projects', { name: 'Shared' })
  member = await invite(pair.atA, project.id, guest, 'EDITOR')
  task = await make(pair.atA, '/tasks', { title: 'Contended', projectId: project.id })
})

const write = async () => (await guest.post('/tasks', { title: 'Mine', projectId: project.id })).status
const read = async () => (await guest.get(`/projects/${project.id}`)).status
async function setRole(role: string) {
  const { status } = await pair.atA.patch(`/projects/${project.id}/members/${member.id}/role`, { role })
  expect(status).toBe(200)
}

test('a role that is set at one process applies to the next write at the other process', async () => {
  for (const _ of upTo(rounds)) {
    await setRole('VIEWER')
    expect(await write()).toBe(403)
    await setRole('EDITOR')
    expect(await write()).toBe(201)
  }
  expect(await faultsOf(pair.sql)).toEqual([])
})

test('a member removed at one process gets 404 from the next request at the other', async () => {
  for (const n of upTo(rounds)) {
    const removed = await pair.atA.delete(`/projects/${project.id}/members/${member.id}`)
    expect(removed.status).toBe(200)
    expect(await (n % 2 ? write() : read())).toBe(404)
    expect(await (n % 2 ? read() : write())).toBe(404)
    member = await invite(pair.atA, project.id, guest, 'EDITOR')
    expect(await (n % 2 ? write() : read())).toBe(n % 2 ? 201 : 200)
  }
  expect(await faultsOf(pair.sql)).toEqual([])
})

test('under load, every write is rejected that starts after the member became a VIEWER', async () => {
  for (const _ of upTo(10)) {
    await setRole('EDITOR')
    let isRevoked = false
    const writer = async () => {
      for (;;) {
        const beganRevoked = isRevoked
        const status = await write()
        if (beganRevoked) return status
      }
    }
    const writers = upTo(8).map(writer)
    await setRole('VIEWER')
    isRevoked = true
    expect(await Promise.all(writers)).toEqual(upTo(8).map(() => 403))
  }
  expect(await faultsOf(pair.sql)).toEqual([])
})

test('a project deleted at one process returns 404 to the next request at the other', async () => {
  for (const n of upTo(rounds / 2)) {
    expect(await write()).toBe(201)
    expect((await pair.atA.delete(`/projects/${project.id}`)).status).toBe(200)
    expect(await (n % 2 ? write() : read())).toBe(404)
    project = await make(pair.atA, '/projects', { name: 'Shared again' })
    await invite(pair.atA, project.id, guest, 'EDITOR')
  }
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
  const invited = await register(openClient(pair.b.url))
  const path = `/projects/${project.id}/members/invite`
  const answers = await both(20, (client) => client.post(path, { email: invited.email, role: 'EDITOR' }))
  expect(statuses(answers)).toEqual({ 201: 1, 409: 19 })
  const { body } = await pair.atB.get(`/projects/${project.id}/members`)
  expect(body.filter(({ userId }) => userId === invited.id)).toHaveLength(1)
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
