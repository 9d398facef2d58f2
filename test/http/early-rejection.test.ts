import { createFullProject, forFile, freshDatabase, invite, make, newId, openProject } from '../kit.ts'
import { openTeam, openTestService, register, unreachableUrl, upTo, versionOf, workerActor } from '../kit.ts'
import type { Answer, Body, Person } from '../kit.ts'
import { costOf, explained } from '../large/plans.ts'

const database = await freshDatabase()
await forFile({ close: database.drop })
const { service, client, people } = await openTeam([], { DATABASE_URL: explained(database.url) })
const { owner, admin, viewer, stranger } = people
const parts = await createFullProject(people, await register(client))
const { id: ownProject } = await make(stranger, '/projects', { name: 'Own' })
const { id: ownTask } = await make(stranger, '/tasks', { title: 'Own', projectId: ownProject })
const idle = await forFile(openTestService(service.env))

/** Returns the same client at a second service, which has loaded no project. */
const atIdle = (client: Person): Person => ({ ...client, ...idle.client.as(client.token) })

const batch = (id: string, operations: object[], by: Person = owner, query = '') =>
  by.post(`/projects/${id}/batch${query}`, { operations })
const tasksOf = (count: number, fields: object = {}) =>
  upTo(count).map(() => ({ op: 'task.create', title: 'T', ...fields }))

/** Writes other than the examples of the document, with the responses for a stranger and a VIEWER. */
const { projectId, memberId } = parts
const role = `/projects/${projectId}/members/${memberId}/role`
const writes: [name: string, statuses: number[], send: (by: Person) => Promise<Answer>][] = [
  ['a create with an own id', [404, 403], (by) => by.post('/tasks', { title: 'T', projectId, id: newId() })],
  ['a used id', [409, 409], (by) => by.post('/projects', { id: projectId, name: 'Mine' })],
  ['a move', [404], (by) => by.patch(`/tasks/${ownTask}`, { projectId })],
  ['a dry run', [404, 403], (by) => batch(projectId, tasksOf(50), by, '?dryRun=true')],
  ['a promotion', [404, 403], (by) => by.patch(role, { role: 'ADMIN' })],
]

test.each(writes)('rejects %s before loading a project or acquiring a lease', async (_, statuses, send) => {
  for (const [n, status] of statuses.entries()) {
    expect((await send(atIdle([stranger, viewer][n]!))).status).toBe(status)
    expect(idle.services.actors.load()).toMatchObject({ known: 0, leases: 0 })
  }
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
  const dryRun = (client: Person) => batch(id, [{ op: 'member.remove', memberId }], client, '?dryRun=true')
  const remove = (query = '') => {
    return (client: Person) => client.delete(`/projects/${id}/members/${memberId}${query}`)
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
