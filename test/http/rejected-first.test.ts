import { expect, test } from 'bun:test'
import { maxMoved } from '../../src/log/children.ts'
import { newId } from '../../src/ids.ts'
import { workerActor } from '../../workers/cascade.ts'
import { costOf, explained } from '../large/plans.ts'
import { upTo } from '../races/pair.ts'
import { type Answer, invite, make, type Person, register } from '../support/client.ts'
import { freshDatabase } from '../support/database.ts'
import { forFile, openTestService } from '../support/service.ts'
import { endpoints } from './endpoints.ts'
import { createFullProject, unreachableUrl, openProject, openTeam } from './scene.ts'

const database = await freshDatabase()
await forFile({ close: database.drop })
const { service, client, people } = await openTeam([], { DATABASE_URL: explained(database.url) })
const things = await createFullProject(people, await register(client))
const { id: projectId } = await make(people.stranger, '/projects', { name: 'Own' })
const { id: ownTask } = await make(people.stranger, '/tasks', { title: 'Own', projectId })
const idle = await forFile(openTestService(service.env))
const load = () => idle.services.actors.load()

const atIdle = (who: Person): Person => ({ ...who, ...idle.client.as(who.token) })

type Ask = [does: string, (who: Person) => Promise<Answer>]

function writes(): Ask[] {
  const { projectId, memberId, subtaskId } = things
  const project = `/projects/${projectId}`
  const operations = upTo(50).map(() => ({ op: 'task.create', id: newId(), title: 'T' }))
  const inBatch = [{ op: 'subtask.delete', id: subtaskId }]
  const batch =
    (operations: object[], query = '') =>
    (who: Person) =>
      who.post(`${project}/batch${query}`, { operations })
  return [
    ...endpoints
      .filter(({ method }) => method !== 'GET')
      .map(({ title: does, method, path, body }): Ask => [
        does,
        (who) => who.call(method, path(things), body?.(things)),
      ]),
    ['create under an own id', (who) => who.post('/tasks', { title: 'T', projectId, id: newId() })],
    ['promote', (who) => who.patch(`${project}/members/${memberId}/role`, { role: 'ADMIN' })],
    ['make a service account', (who) => who.post(`${project}/service-accounts`, { name: 'Robot' })],
    ['do fifty writes', batch(operations)],
    ['try fifty writes', batch(operations, '?dryRun=true')],
    ['delete a subtask in a batch', batch(inBatch)],
  ]
}
/** Those that no member is rejected for, by role alone. */
const strangersWrites = (): Ask[] => [
  ...writes(),
  ['undo much', (who) => who.post(`/projects/${things.projectId}/undo`, { seqs: upTo(8) })],
  ['try an undo', (who) => who.post(`/projects/${things.projectId}/undo?dryRun=true`, { batch: 2 })],
  ['move', (who) => who.patch(`/tasks/${ownTask}`, { projectId: things.projectId })],
]
/** What takes more than a role: the log, the author, or who is to be removed. */
const byMore = /^undo|comment$|remove a member/

test('rejects a stranger before any actor or lease is taken, whatever the write is', async () => {
  const stranger = atIdle(people.stranger)
  for (const [name, ask] of strangersWrites()) {
    const { status } = await ask(stranger)
    expect([name, status, load()]).toMatchObject([name, 404, { known: 0, leases: 0 }])
  }
  const taken = await stranger.post('/projects', { id: things.projectId, name: 'Mine' })
  expect([taken.status, load()]).toMatchObject([409, { known: 0, leases: 0 }])
})

test('rejects a VIEWER before any actor or lease is taken', async () => {
  const viewer = atIdle(people.viewer)
  for (const [name, ask] of writes()) {
    if (byMore.test(name)) continue
    const { status } = await ask(viewer)
    expect([name, status, load()]).toMatchObject([name, 403, { known: 0, leases: 0 }])
  }
})

test('follows a task to the project that it moved to, where its caller has another role', async () => {
  const { owner, viewer } = people
  const { id: otherId } = await make(owner, '/projects', { name: 'Other' })
  await invite(owner, otherId, viewer, 'EDITOR')
  const { id } = await make(owner, '/tasks', { title: 'T', projectId: things.projectId })
  expect((await viewer.patch(`/tasks/${id}`, { title: 'Mine' })).status).toBe(403)
  await atIdle(owner).patch(`/tasks/${id}`, { projectId: otherId })
  expect((await viewer.patch(`/tasks/${id}`, { title: 'Mine' })).status).toBe(200)
})

/** Removes a member again and again, who had tasks the last time; gives the seqs of the removals. */
async function removeOften(
  projectId: string,
  guest: Person,
  removals: number,
  tasks: number,
): Promise<number[]> {
  const seqs: number[] = []
  for (const _ of upTo(removals)) {
    const { id } = await invite(people.owner, projectId, guest, 'EDITOR')
    const { headers } = await people.owner.get(`/projects/${projectId}`)
    seqs.push(Number(headers.get('docket-version')) + 1)
    await people.owner.delete(`/projects/${projectId}/members/${id}`)
  }
  const { id } = await invite(people.owner, projectId, guest, 'EDITOR')
  const operations = upTo(tasks).map(() => ({ op: 'task.create', title: 'T', assigneeId: guest.id }))
  const { body } = await people.owner.post(`/projects/${projectId}/batch`, { operations })
  const ids = (body as unknown as { results: { id: string }[] }).results.map((one) => one.id)
  await people.owner.delete(`/projects/${projectId}/members/${id}`)
  const input = { projectId, userId: guest.id, ids }
  await service.services.run({ name: 'task.unassign', input, caller: { userId: workerActor } })
  return seqs
}

test('a rejected undo reads no more than a rejected read, however much it names', async () => {
  const { owner, stranger } = people
  const { id } = await make(owner, '/projects', { name: 'Busy' })
  const seqs = await removeOften(id, await register(client), 20, 200)
  const eve = atIdle(stranger)
  const read = await costOf(async () => expect((await eve.get(`/projects/${id}`)).status).toBe(404))
  const undo = await costOf(async () =>
    expect((await eve.post(`/projects/${id}/undo`, { seqs })).status).toBe(404),
  )
  expect(undo.rows).toBeLessThanOrEqual(read.rows)
  expect(undo.scans.length).toBeLessThanOrEqual(read.scans.length)
})

test('an undo that restores what somebody else deleted reads its events and no more', async () => {
  const { owner, editor } = people
  const { id } = await make(owner, '/projects', { name: 'Moderated' })
  await invite(owner, id, editor, 'EDITOR')
  const task = await make(owner, '/tasks', { title: 'T', projectId: id })
  const operations = upTo(200).map(() => ({ op: 'subtask.create', taskId: task.id, title: 'S' }))
  await owner.post(`/projects/${id}/batch`, { operations })
  const { headers } = await owner.get(`/projects/${id}`)
  await owner.delete(`/tasks/${task.id}`)
  const seq = Number(headers.get('docket-version')) + 1
  const cost = await costOf(async () =>
    expect((await editor.post(`/projects/${id}/undo`, { seq })).status).toBe(403),
  )
  expect(cost.rows).toBeLessThan(20)
})

test('an undo of many removals reads no more rows than may come back, for its owner too', async () => {
  const { owner } = people
  const { id } = await make(owner, '/projects', { name: 'Many' })
  const seqs = await removeOften(id, await register(client), 40, 500)
  const cost = await costOf(async () =>
    expect((await owner.post(`/projects/${id}/undo?dryRun=true`, { seqs })).status).toBe(409),
  )
  expect(cost.rows).toBeLessThan(3 * maxMoved.rows)
})

test('a removal that is rejected reads only roles, alone and in a batch', async () => {
  const { owner, admin, viewer } = people
  const id = await openProject(people)
  for (const _ of upTo(60)) await make(admin, `/projects/${id}/webhooks`, { url: unreachableUrl })
  const { body } = await owner.get(`/projects/${id}/members`)
  const memberId = body.find(({ userId }) => userId === admin.id)!.id
  const member = `/projects/${id}/members/${memberId}`
  const operations = [{ op: 'member.remove', memberId }]
  const asks: ((who: Person) => Promise<Answer>)[] = [
    (who) => who.delete(member),
    (who) => who.delete(`${member}?revoke=true`),
    (who) => who.post(`/projects/${id}/batch?dryRun=true`, { operations }),
  ]
  for (const ask of asks) {
    const cost = await costOf(async () => expect((await ask(viewer)).status).toBe(403))
    expect(cost.rows).toBeLessThan(20)
  }
  const allowed = await costOf(async () => expect((await asks.at(-1)!(owner)).status).toBe(200))
  expect(allowed.rows).toBeGreaterThan(60)
})

test('a stranger to every project of a task reads nothing of its events for an instant in the past', async () => {
  const { owner, stranger, viewer } = people
  const task = await make(owner, '/tasks', { title: 'T', projectId: things.projectId })
  const instant = new Date().toISOString()
  const operations = upTo(200).map((n) => ({ op: 'task.update', id: task.id, title: `T${n}` }))
  await owner.post(`/projects/${things.projectId}/batch`, { operations })
  const { id: otherId } = await make(owner, '/projects', { name: 'Other' })
  await owner.patch(`/tasks/${task.id}`, { projectId: otherId })
  const ask = (who: Person, list = '') => who.get(`/tasks/${task.id}${list}?asOf=${instant}`)
  for (const list of ['', '/subtasks', '/comments']) {
    const cost = await costOf(async () => expect((await ask(stranger, list)).status).toBe(404))
    expect(cost.rows).toBeLessThan(20)
  }
  expect((await ask(viewer)).body).toMatchObject({ title: 'T', projectId: things.projectId })
})
