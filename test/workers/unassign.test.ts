import { type Answer, type Client, faultsOf, invite, make, register, workerActor } from '../kit.ts'
import { type FullProject, openScene } from './member-scene.ts'
import { untilOutboxEmpty } from './remains.ts'

let { guest, project, mine, remove, unassign, assignees } = {} as FullProject
const sql = () => scene.reads
const scene = await openScene()
const ada = scene.ada
beforeEach(
  async () => void ({ guest, project, mine, remove, unassign, assignees } = await scene.createFullProject()),
)

const unassigned = () => sql()<{ actorId: string }[]>`
  select actor_id from events where type = 'task.unassigned' and project_id = ${project.id}`

test('a member who is invited again before the unassign job runs keeps all assignments', async () => {
  await remove()
  await invite(ada, project.id, guest, 'VIEWER')
  await unassign()
  expect(await assignees()).toEqual(mine.map(() => guest.id))
  expect(await unassigned()).toHaveLength(0)
})

test('repeated and concurrent unassign jobs unassign each task once', async () => {
  await remove()
  await Promise.all([unassign(), unassign()])
  await unassign()
  expect(await assignees()).toEqual(mine.map(() => null))
  expect(await unassigned()).toHaveLength(8)
})

test('the unassign job does not change tasks that were reassigned after the removal', async () => {
  await remove()
  await ada.patch(`/tasks/${mine[0]!.id}`, { assigneeId: ada.id })
  await unassign()
  expect(await assignees()).toEqual([ada.id, ...mine.slice(1).map(() => null)])
})

test('the unassign job does nothing after the project is deleted', async () => {
  await remove()
  await ada.delete(`/projects/${project.id}`)
  await unassign()
  expect(await unassigned()).toHaveLength(0)
})

const claim = (by: Client, ids = mine.map(({ id }) => id)) =>
  Promise.all(ids.map(async (id) => (await by.post(`/tasks/${id}/claim`, { leaseSeconds: 86_400 })).body))
const holders = async () => {
  const { body } = await ada.get(`/tasks?projectId=${project.id}`)
  return body.map((task) => (task as { claim?: { by: { id: string } } }).claim?.by.id ?? null)
}
const releases = () => sql()<{ actorId: string; entityId: string }[]>`
  select actor_id, entity_id from events where type = 'task.released' and project_id = ${project.id}`

test('the unassign job ends the claims of the member, and no other claim', async () => {
  await claim(
    guest,
    mine.slice(1).map(({ id }) => id),
  )
  await claim(ada, [mine[0]!.id])
  await remove()
  await Promise.all([unassign(), unassign()])
  expect(await holders()).toEqual([ada.id, ...mine.slice(1).map(() => null)])
  expect(await assignees()).toEqual(mine.map(() => null))
  expect(await releases()).toHaveLength(7)
  expect(await faultsOf(sql())).toEqual([])
})

test('the unassign job records a claim that had ended as expired, not as released', async () => {
  const { id } = mine[0]!
  // The API allows no lease that ends at once.
  const input = { id, leaseSeconds: 0 }
  await scene.service.services.run({ name: 'task.claim', input, caller: { userId: guest.id } })
  await remove()
  await unassign()
  const ends = await sql()<{ type: string }[]>`
    select type from events where entity_id = ${id} and type in ('task.released', 'task.claim_expired')`
  expect(ends.map(({ type }) => type)).toEqual(['task.claim_expired'])
})

test('a member who is invited again before the unassign job runs keeps all claims', async () => {
  await claim(guest)
  await remove()
  await invite(ada, project.id, guest, 'EDITOR')
  await unassign()
  expect(await holders()).toEqual(mine.map(() => guest.id))
  expect(await releases()).toHaveLength(0)
})

test('the undo of a removal restores no claim, and the member can claim the tasks again', async () => {
  await claim(guest)
  const { seq } = await lastEvent(await remove())
  await unassign()
  expect((await ada.post(`/projects/${project.id}/undo`, { seq })).status).toBe(200)
  expect(await assignees()).toEqual(mine.map(() => guest.id))
  expect(await holders()).toEqual(mine.map(() => null))
  await claim(guest)
  expect(await holders()).toEqual(mine.map(() => guest.id))
  expect(await faultsOf(sql())).toEqual([])
})

async function lastEvent({ status }: Answer) {
  expect(status).toBe(200)
  const [row] = await sql()<[{ seq: number }]>`
    select max(seq)::float8 as seq from events where project_id = ${project.id}`
  return row
}

// This must be before the last test, because the workers keep running.
test('claims of a removed member, a deleted account and a deleted service account end, also after a downtime of the workers', async () => {
  const path = `/projects/${project.id}/service-accounts`
  const robot = await make(ada, path, { name: 'Robot', role: 'EDITOR' })
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
  const key = await make(ada, `${path}/${robot.id}/tokens`, { name: 'Key', scopes: ['write'], expiresAt })
  const leaver = await register(scene.service.client)
  const { id: memberId } = await invite(ada, project.id, leaver, 'EDITOR')
  const ids = mine.map(({ id }) => id)
  await claim(scene.service.client.as((key as unknown as { token: string }).token), ids.slice(0, 2))
  await claim(leaver, ids.slice(2, 4))
  await claim(guest, ids.slice(4))
  expect(await holders()).toEqual([
    ...[robot.id, robot.id, leaver.id, leaver.id],
    ...ids.slice(4).map(() => guest.id),
  ])
  const ended = [
    await ada.delete(`${path}/${robot.id}`),
    await ada.delete(`/projects/${project.id}/members/${memberId}`),
    await guest.delete('/auth/me'),
  ]
  expect(ended.map(({ status }) => status)).toEqual([200, 200, 200])
  scene.service.startWorkers()
  await untilOutboxEmpty(sql())
  expect(await holders()).toEqual(ids.map(() => null))
  expect((await releases()).map(({ actorId }) => actorId)).toEqual(ids.map(() => workerActor))
  expect((await claim(ada)).map((task) => task.id)).toEqual(ids)
  expect(await faultsOf(sql())).toEqual([])
})

// This must be the last test, because the workers keep running.
test('unassigns every task of a removed member, and the history shows it', async () => {
  scene.service.startWorkers()
  const elsewhere = await make(ada, '/projects', { name: 'Other' })
  await invite(ada, elsewhere.id, guest, 'EDITOR')
  const kept = await make(ada, '/tasks', { title: 'Kept', projectId: elsewhere.id, assigneeId: guest.id })
  expect((await remove()).status).toBe(200)
  await untilOutboxEmpty(sql())
  expect(await assignees()).toEqual(mine.map(() => null))
  expect(await unassigned()).toEqual(mine.map(() => ({ actorId: workerActor })) as never)
  expect((await ada.get(`/tasks/${kept.id}`)).body.assigneeId).toBe(guest.id)
  expect(await faultsOf(sql())).toEqual([])
})
