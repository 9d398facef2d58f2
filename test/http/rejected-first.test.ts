import { afterAll, expect, test } from 'bun:test'
import { createApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { openLog } from '../../src/log.ts'
import { mostMoved } from '../../src/log/children.ts'
import { newId } from '../../src/ids.ts'
import { openServices } from '../../src/services.ts'
import { commands } from '../../modules/commands.ts'
import { worker } from '../../workers/cascade.ts'
import { react } from '../../workers/reactions.ts'
import { costOf, explained } from '../large/plans.ts'
import { upTo } from '../races/pair.ts'
import { type Answer, invite, make, openClient, type Person, register } from '../support/client.ts'
import { freshDatabase } from '../support/database.ts'
import { openTestService } from '../support/service.ts'
import { furnish, openPeople } from './scene.ts'

const database = await freshDatabase()
const drop: () => Promise<void> = database.drop
/** The process where the project is at work, and one that has written nothing yet. */
const service = await openTestService({ DATABASE_URL: explained(database.url) })
const people = await openPeople(service.client)
const things = await furnish(people, await register(service.client))
const { id: projectId } = await make(people.stranger, '/projects', { name: 'Own' })
const { id: taskId } = await make(people.stranger, '/tasks', { title: 'Own', projectId })
const own: { projectId: string; taskId: string } = { projectId, taskId }
const idle = openServices(readConfig(service.env), openLog('silent'), { commands, react })
afterAll(async () => {
  await idle.close()
  await service.close()
  await drop()
})

/** Somebody at the idle process. */
function atIdle(who: Person): Person {
  const app = createApp(idle)
  return { ...who, ...openClient('http://localhost', who.token, (request) => app.fetch(request)) }
}

type Ask = (who: Person) => Promise<Answer>

/** Every kind of write on somebody else's project. */
const writes = (): Record<string, Ask> => {
  const { projectId, memberId, taskId, subtaskId, inviteeEmail: email } = things
  const project = `/projects/${projectId}`
  const operations = upTo(50).map(() => ({ op: 'task.create', id: newId(), title: 'T' }))
  return {
    create: (who) => who.post('/tasks', { title: 'T', projectId, id: newId() }),
    update: (who) => who.patch(`/tasks/${taskId}`, { title: 'T' }),
    delete: (who) => who.delete(`/tasks/${taskId}`),
    subtask: (who) => who.patch(`/tasks/subtasks/${subtaskId}/toggle`),
    addSubtask: (who) => who.post(`/tasks/${taskId}/subtasks`, { title: 'S' }),
    comment: (who) => who.post(`/tasks/${taskId}/comments`, { text: 'C' }),
    invite: (who) => who.post(`${project}/members/invite`, { email }),
    setRole: (who) => who.patch(`${project}/members/${memberId}/role`, { role: 'ADMIN' }),
    rename: (who) => who.patch(project, { name: 'Mine' }),
    deleteProject: (who) => who.delete(project),
    serviceAccount: (who) => who.post(`${project}/service-accounts`, { name: 'Robot' }),
    batch: (who) => who.post(`${project}/batch`, { operations }),
    dryRun: (who) => who.post(`${project}/batch?dryRun=true`, { operations }),
    deleteSubtask: (who) =>
      who.post(`${project}/batch`, { operations: [{ op: 'subtask.delete', id: subtaskId }] }),
  }
}
/** Those that no member is rejected for, by role alone. */
const strangersWrites = (): Record<string, Ask> => {
  const { projectId, commentId, memberId } = things
  return {
    ...writes(),
    undo: (who) => who.post(`/projects/${projectId}/undo`, { seqs: upTo(8) }),
    undoBatch: (who) => who.post(`/projects/${projectId}/undo?dryRun=true`, { batch: 2 }),
    editComment: (who) => who.patch(`/tasks/comments/${commentId}`, { text: 'Mine' }),
    removeMember: (who) => who.delete(`/projects/${projectId}/members/${memberId}`),
    move: (who) => who.patch(`/tasks/${own.taskId}`, { projectId }),
  }
}

test('rejects a stranger before any actor or lease is taken, whatever the write is', async () => {
  const stranger = atIdle(people.stranger)
  for (const [name, ask] of Object.entries(strangersWrites())) {
    const { status } = await ask(stranger)
    expect([name, status, idle.actors.load()]).toMatchObject([name, 404, { known: 0, leases: 0 }])
  }
  const taken = await stranger.post('/projects', { id: things.projectId, name: 'Mine' })
  expect([taken.status, idle.actors.load()]).toMatchObject([409, { known: 0, leases: 0 }])
})

test('rejects a VIEWER before any actor or lease is taken', async () => {
  const viewer = atIdle(people.viewer)
  for (const [name, ask] of Object.entries(writes())) {
    const { status } = await ask(viewer)
    expect([name, status, idle.actors.load()]).toMatchObject([name, 403, { known: 0, leases: 0 }])
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
  await service.services.run({ name: 'task.unassign', input, caller: { userId: worker } })
  return seqs
}

test('a rejected undo reads no more than a rejected read, however much it names', async () => {
  const { owner, stranger } = people
  const { id } = await make(owner, '/projects', { name: 'Busy' })
  const seqs = await removeOften(id, await register(service.client), 20, 200)
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
  const seqs = await removeOften(id, await register(service.client), 40, 500)
  const cost = await costOf(async () =>
    expect((await owner.post(`/projects/${id}/undo?dryRun=true`, { seqs })).status).toBe(409),
  )
  expect(cost.rows).toBeLessThan(3 * mostMoved.rows)
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
