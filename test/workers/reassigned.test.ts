import { unassignTasks } from '../../modules/tasks/commands.ts'
import { expectError, expectUndone, faultsOf, invite, make, register, workerActor } from '../kit.ts'
import { type FullProject, openScene } from './member-scene.ts'
import { untilOutboxEmpty } from './remains.ts'

let { guest, project, member, mine, unassign, assignees } = {} as FullProject
const sql = () => scene.reads
const scene = await openScene()
const ada = scene.ada
/** Events: seq 1 creates the project, 2 invites the member, 3 to 10 create tasks, 11 removes the member. */
beforeEach(async () => {
  const scenery = await scene.createFullProject()
  ;({ guest, project, member, mine, unassign, assignees } = scenery)
  expect((await scenery.remove()).status).toBe(200)
})

const undo = () => ada.post(`/projects/${project.id}/undo`, { seq: 11 })
const members = async () => (await ada.get(`/projects/${project.id}/members`)).body

test('undoing the removal of a member restores the membership, and assignments that were not changed later', async () => {
  await unassign()
  await ada.patch(`/tasks/${mine[0]!.id}`, { assigneeId: ada.id })
  await ada.patch(`/tasks/${mine[1]!.id}`, { title: 'Other' })
  await ada.delete(`/tasks/${mine[2]!.id}`)
  const { changes } = expectUndone(await undo())
  expect(changes.map(({ type }) => type)).toEqual([
    'member.invited',
    ...mine.slice(2).map(() => 'task.updated'),
  ])
  expect(await members()).toEqual([member] as never)
  expect(await assignees()).toEqual([ada.id, ...mine.slice(2).map(() => guest.id)])
  expect((await guest.get(`/tasks/${mine[1]!.id}`)).body.title).toBe('Other')
  expect(await faultsOf(sql())).toEqual([])
})

test('the unassign job changes nothing after the member is restored', async () => {
  expectUndone(await undo())
  await unassign()
  expect(await assignees()).toEqual(mine.map(() => guest.id))
  await ada.delete(`/projects/${project.id}/members/${member.id}`)
  const some = { projectId: project.id, userId: guest.id, ids: mine.slice(0, 3).map(({ id }) => id) }
  await scene.service.services.run({ name: unassignTasks.name, input: some, caller: { userId: workerActor } })
  expectUndone(await ada.post(`/projects/${project.id}/undo`, { seq: 13 }))
  await unassign()
  expect(await assignees()).toEqual(mine.map(() => guest.id))
  expect(await faultsOf(sql())).toEqual([])
})

test('an undo during the unassign job restores all assignments', async () => {
  for (let round = 0; round < 10; round++) {
    const ids = mine.map(({ id }) => id)
    const input = (some: string[]) => ({ projectId: project.id, userId: guest.id, ids: some })
    const caller = { userId: workerActor }
    const take = (some: string[]) =>
      scene.service.services.run({ name: unassignTasks.name, input: input(some), caller }).catch(() => {})
    // All commands are in one batch, so that some tasks are unassigned between the load and the execution of the undo.
    const [, , undone] = await Promise.all([
      take(ids.slice(0, 3)),
      take(ids.slice(3, 5)),
      ada.post(`/projects/${project.id}/undo`, { seq: await removalSeq() }),
      take(ids.slice(5)),
    ])
    expectUndone(undone)
    expect(await assignees()).toEqual(mine.map(() => guest.id))
    await ada.delete(`/projects/${project.id}/members/${member.id}`)
  }
  expect(await faultsOf(sql())).toEqual([])
})
const removalSeq = async () => {
  const [row] = await sql()<[{ seq: number }]>`
    select max(seq)::float8 as seq from events where project_id = ${project.id} and type = 'member.removed'`
  return row.seq
}

test('each of two removals of one user restores the assignments that it ended', async () => {
  await unassign()
  const again = await invite(ada, project.id, guest)
  await ada.patch(`/tasks/${mine[0]!.id}`, { assigneeId: guest.id })
  await ada.delete(`/projects/${project.id}/members/${again.id}`)
  const second = await removalSeq()
  await unassign()
  expectUndone(await ada.post(`/projects/${project.id}/undo`, { seq: second }))
  expect(await assignees()).toEqual([guest.id, ...mine.slice(1).map(() => null)])
  expect((await members()).map(({ id }) => id)).toEqual([again.id])
  await ada.delete(`/projects/${project.id}/members/${again.id}`)
  await unassign()
  expectUndone(await undo())
  expect(await assignees()).toEqual(mine.map(() => guest.id))
  expect((await members()).map(({ id }) => id)).toEqual([member.id])
  expect(await faultsOf(sql())).toEqual([])
})

test('undoing the restoration removes the member, and clears the assignments again', async () => {
  await unassign()
  const { changes } = expectUndone(await undo())
  expectUndone(await ada.post(`/projects/${project.id}/undo`, { batch: changes[0]!.batch }))
  expect(await members()).toEqual([] as never)
  expect(await assignees()).toEqual(mine.map(() => null))
})

test('undoing a removal returns 409 if the member was invited again or the account was deleted', async () => {
  const again = await invite(ada, project.id, guest)
  expectError(await undo(), 409, 'Seq 11 cannot be undone: member changed since by seq 12')
  await ada.delete(`/projects/${project.id}/members/${again.id}`)
  await guest.delete('/auth/me')
  expectError(await undo(), 409, 'The account of this member was deleted')
})

test('undoing the deletion of a service account returns 409', async () => {
  const path = `/projects/${project.id}/service-accounts`
  const { id } = await make(ada, path, { name: 'Robot' })
  await ada.delete(`${path}/${id}`)
  const refused = await ada.post(`/projects/${project.id}/undo`, { seq: 15 })
  expectError(refused, 409, 'A deleted service account cannot be restored: create a new one')
})

test('a task whose assignee has left is restored without an assignee', async () => {
  // Seqs: 12 creates the task, 13 invites the member, 14 assigns the task, 15 deletes it, 16 removes the member.
  const task = await make(ada, '/tasks', { title: 'T', projectId: project.id, assigneeId: ada.id })
  const other = await register(scene.service.client)
  const { id } = await invite(ada, project.id, other)
  await ada.patch(`/tasks/${task.id}`, { assigneeId: other.id })
  await ada.delete(`/tasks/${task.id}`)
  await ada.delete(`/projects/${project.id}/members/${id}`)
  const { changes } = expectUndone(await ada.post(`/projects/${project.id}/undo`, { seq: 15 }))
  expect(changes.map(({ type }) => type)).toEqual(['task.created', 'task.unassigned'])
  expect((await ada.get(`/tasks/${task.id}`)).body.assigneeId).toBeNull()
  const both = await ada.post(`/projects/${project.id}/undo`, { seqs: [16, 18] })
  expect(expectUndone(both).changes).toHaveLength(2)
  expect((await ada.get(`/tasks/${task.id}`)).body.assigneeId).toBe(other.id)
  expect(await faultsOf(sql())).toEqual([])
})

// This must be the last test, because the workers keep running.
test('undoing a removal restores all assignments while workers run', async () => {
  scene.service.startWorkers()
  for (let round = 0; round < 5; round++) {
    expectUndone(await ada.post(`/projects/${project.id}/undo`, { seq: await removalSeq() }))
    expect(await assignees()).toEqual(mine.map(() => guest.id))
    await untilOutboxEmpty(sql())
    expect(await assignees()).toEqual(mine.map(() => guest.id))
    await ada.delete(`/projects/${project.id}/members/${member.id}`)
  }
  await untilOutboxEmpty(sql())
  expect(await faultsOf(sql())).toEqual([])
})
