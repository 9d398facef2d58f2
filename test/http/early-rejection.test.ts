import { createFullProject, forFile, freshDatabase, invite, make, newId, openProject } from '../kit.ts'
import { openTeam, openTestService, register, unreachableUrl, upTo, versionOf, workerActor } from '../kit.ts'
import type { Answer, Body, Person } from '../kit.ts'
import { costOf, explained } from '../large/plans.ts'
import { endpoints } from './endpoints.ts'

const database = await freshDatabase()
await forFile({ close: database.drop })
const { service, client, people } = await openTeam([], { DATABASE_URL: explained(database.url) })
const { owner, admin, editor, viewer, stranger } = people
const parts = await createFullProject(people, await register(client))
const { id: projectId } = await make(stranger, '/projects', { name: 'Own' })
const { id: ownTask } = await make(stranger, '/tasks', { title: 'Own', projectId })
const idle = await forFile(openTestService(service.env))

/** Returns the same client at a second service, which has loaded no project. */
const atIdle = (client: Person): Person => ({ ...client, ...idle.client.as(client.token) })

type Send = (client: Person) => Promise<Answer>
type Write = [name: string, send: Send]

const tasksOf = (count: number, fields: object = {}) =>
  upTo(count).map(() => ({ op: 'task.create', title: 'T', ...fields }))
const batch = (id: string, operations: object[], client: Person = owner, query = '') =>
  client.post(`/projects/${id}/batch${query}`, { operations })

function memberWrites(): Write[] {
  const { projectId, memberId, subtaskId } = parts
  const project = `/projects/${projectId}`
  const fifty = tasksOf(50)
  return [
    ...endpoints
      .filter(({ method }) => method !== 'GET')
      .map(({ title, method, path, body }): Write => [
        title,
        (client) => client.call(method, path(parts), body?.(parts)),
      ]),
    ['create with an own id', (client) => client.post('/tasks', { title: 'T', projectId, id: newId() })],
    ['promote', (client) => client.patch(`${project}/members/${memberId}/role`, { role: 'ADMIN' })],
    ['create a service account', (client) => client.post(`${project}/service-accounts`, { name: 'Robot' })],
    ['batch', (client) => batch(projectId, fifty, client)],
    ['batch dry run', (client) => batch(projectId, fifty, client, '?dryRun=true')],
    ['delete in a batch', (client) => batch(projectId, [{ op: 'subtask.delete', id: subtaskId }], client)],
  ]
}
const undo = (body: object, query = ''): Send => {
  return (client) => client.post(`/projects/${parts.projectId}/undo${query}`, body)
}
const strangerWrites = (): Write[] => [
  ...memberWrites(),
  ['undo several', undo({ seqs: upTo(8) })],
  ['undo dry run', undo({ batch: 2 }, '?dryRun=true')],
  ['move', (client) => client.patch(`/tasks/${ownTask}`, { projectId: parts.projectId })],
]
/** Writes that need the log, the author or the member to check the permission. */
const byMoreThanRole = /^undo|comment$|remove a member/

async function expectNoActor(send: Send, client: Person, status: number, name = '') {
  const answer = await send(atIdle(client))
  const load = idle.services.actors.load()
  expect([name, answer.status, load]).toMatchObject([name, status, { known: 0, leases: 0 }])
}

test('rejects a write by a stranger before loading an actor or acquiring a lease', async () => {
  for (const [name, send] of strangerWrites()) await expectNoActor(send, stranger, 404, name)
  const create: Send = (client) => client.post('/projects', { id: parts.projectId, name: 'Mine' })
  await expectNoActor(create, stranger, 409)
})

test('rejects a write by a VIEWER before loading an actor or acquiring a lease', async () => {
  for (const [name, send] of memberWrites())
    if (!byMoreThanRole.test(name)) await expectNoActor(send, viewer, 403, name)
})

test('checks the role in the project to which a task has moved', async () => {
  const { id: otherId } = await make(owner, '/projects', { name: 'Other' })
  await invite(owner, otherId, viewer, 'EDITOR')
  const { id } = await make(owner, '/tasks', { title: 'T', projectId: parts.projectId })
  expect((await viewer.patch(`/tasks/${id}`, { title: 'Mine' })).status).toBe(403)
  await atIdle(owner).patch(`/tasks/${id}`, { projectId: otherId })
  expect((await viewer.patch(`/tasks/${id}`, { title: 'Mine' })).status).toBe(200)
})

const nextSeq = async (id: string) => (await versionOf(owner, id)) + 1

async function removeRepeatedly(projectId: string, removals: number, tasks: number): Promise<number[]> {
  const guest = await register(client)
  const seqs: number[] = []
  for (const _ of upTo(removals)) {
    const { id } = await invite(owner, projectId, guest, 'EDITOR')
    seqs.push(await nextSeq(projectId))
    await owner.delete(`/projects/${projectId}/members/${id}`)
  }
  const { id } = await invite(owner, projectId, guest, 'EDITOR')
  const { body } = await batch(projectId, tasksOf(tasks, { assigneeId: guest.id }))
  const ids = (body as unknown as { results: Body[] }).results.map((one) => one.id)
  await owner.delete(`/projects/${projectId}/members/${id}`)
  const input = { projectId, userId: guest.id, ids }
  await service.services.run({ name: 'task.unassign', input, caller: { userId: workerActor } })
  return seqs
}

const costOfStatus = (status: number, send: () => Promise<Answer>) =>
  costOf(async () => expect((await send()).status).toBe(status))

test('the check of an own id does not scan the jobs', async () => {
  await service.services.database.background`insert into outbox (id, name, data, parked_at)
    select gen_random_uuid(), 'purge-task', jsonb_build_object('taskId', gen_random_uuid()), now()
    from generate_series(1, 3000)`
  const create = () => owner.post('/tasks', { id: newId(), title: 'T', projectId: parts.projectId })
  expect((await costOfStatus(201, create)).rows).toBeLessThan(300)
})

test('rejecting an undo of many events reads no more rows than rejecting a read', async () => {
  const { id } = await make(owner, '/projects', { name: 'Busy' })
  const seqs = await removeRepeatedly(id, 20, 200)
  const eve = atIdle(stranger)
  const read = await costOfStatus(404, () => eve.get(`/projects/${id}`))
  const undo = await costOfStatus(404, () => eve.post(`/projects/${id}/undo`, { seqs }))
  expect(undo.rows).toBeLessThanOrEqual(read.rows)
  expect(undo.scans.length).toBeLessThanOrEqual(read.scans.length)
})

test("a rejected undo of another member's deletion reads only the events of that deletion", async () => {
  const { id } = await make(owner, '/projects', { name: 'Moderated' })
  await invite(owner, id, editor, 'EDITOR')
  const task = await make(owner, '/tasks', { title: 'T', projectId: id })
  const subtasks = upTo(200).map(() => ({ op: 'subtask.create', taskId: task.id, title: 'S' }))
  await batch(id, subtasks)
  const seq = await nextSeq(id)
  await owner.delete(`/tasks/${task.id}`)
  const cost = await costOfStatus(403, () => editor.post(`/projects/${id}/undo`, { seq }))
  expect(cost.rows).toBeLessThan(20)
})

test('an undo of many removals reads at most as many rows as one undo may restore, also for the owner', async () => {
  const { id } = await make(owner, '/projects', { name: 'Removals' })
  const seqs = await removeRepeatedly(id, 40, 500)
  const cost = await costOfStatus(409, () => owner.post(`/projects/${id}/undo?dryRun=true`, { seqs }))
  expect(cost.rows).toBeLessThan(3 * 5_000)
})

test('rejecting the removal of a member reads only roles, also in a batch', async () => {
  const id = await openProject(people)
  for (const _ of upTo(60)) await make(admin, `/projects/${id}/webhooks`, { url: unreachableUrl })
  const { body } = await owner.get(`/projects/${id}/members`)
  const memberId = body.find(({ userId }) => userId === admin.id)!.id
  const dryRun: Send = (client) => batch(id, [{ op: 'member.remove', memberId }], client, '?dryRun=true')
  const remove = (query = ''): Send => {
    return (client) => client.delete(`/projects/${id}/members/${memberId}${query}`)
  }
  for (const send of [remove(), remove('?revoke=true'), dryRun])
    expect((await costOfStatus(403, () => send(viewer))).rows).toBeLessThan(20)
  expect((await costOfStatus(200, () => dryRun(owner))).rows).toBeGreaterThan(60)
})

test("rejecting a stranger's read of a task at an instant reads none of the task's events", async () => {
  const task = await make(owner, '/tasks', { title: 'T', projectId: parts.projectId })
  const instant = new Date().toISOString()
  const updates = upTo(200).map((n) => ({ op: 'task.update', id: task.id, title: `T${n}` }))
  await batch(parts.projectId, updates)
  const { id: otherId } = await make(owner, '/projects', { name: 'Other' })
  await owner.patch(`/tasks/${task.id}`, { projectId: otherId })
  const read = (client: Person, list = '') => client.get(`/tasks/${task.id}${list}?asOf=${instant}`)
  for (const list of ['', '/subtasks', '/comments'])
    expect((await costOfStatus(404, () => read(stranger, list))).rows).toBeLessThan(20)
  expect((await read(viewer)).body).toMatchObject({ title: 'T', projectId: parts.projectId })
})
