import { type Body, type Client, expectError, expectUndone, faultsOf, forFile, invite, make } from '../kit.ts'
import { nilId, openTestService, register, unassignMember, upTo, workerActor } from '../kit.ts'
import { untilOutboxEmpty } from './remains.ts'

const service = await forFile(openTestService({ JOB_BATCH_ROWS: '3', JOB_PAUSE_MS: '1' }))
const ada = await register(service.client)
const sql = service.services.database.reads
const run = (name: string, input: object, userId = workerActor) =>
  service.services.run({ name, input, caller: { userId } })

/** A project with a member to whom eight tasks are assigned: seqs 3 to 10. */
async function openProject() {
  const guest = await register(service.client)
  const { id: projectId } = await make(ada, '/projects', { name: 'Shared' })
  const member = await invite(ada, projectId, guest, 'EDITOR')
  const ids: string[] = []
  for (const n of upTo(8))
    ids.push((await make(ada, '/tasks', { title: `Task ${n}`, projectId, assigneeId: guest.id })).id)
  /** One letter for each task: `a` for Ada, `g` for the member, `-` for nobody, `?` for others. */
  const letters = async (
    idOf: (task: { assigneeId: string | null; claim?: { by: Body } }) => string | null | undefined,
  ) => {
    const { body } = await ada.get(`/tasks?projectId=${projectId}`)
    const letterOf = (id: string | null | undefined) =>
      id ? (id === ada.id ? 'a' : id === guest.id ? 'g' : '?') : '-'
    return body.map((task) => letterOf(idOf(task as never))).join('')
  }
  return {
    ...{ guest, projectId, member, ids },
    remove: (id = member.id) => ada.delete(`/projects/${projectId}/members/${id}`),
    undo: (wanted: object) => ada.post(`/projects/${projectId}/undo`, wanted),
    /** Runs the job that ends what the removed member holds. */
    unassign: () =>
      unassignMember(
        sql,
        service.services.run,
        { projectId, userId: guest.id },
        { batchRows: 3, pauseMs: 0 },
      ),
    members: async () => (await ada.get(`/projects/${projectId}/members`)).body.map(({ id }) => id),
    claim: (by: Client, some = ids) =>
      Promise.all(some.map((id) => by.post(`/tasks/${id}/claim`, { leaseSeconds: 86_400 }))),
    assignees: () => letters(({ assigneeId }) => assigneeId),
    holders: () => letters(({ claim }) => claim?.by.id),
    /** The number of events of each type, and the accounts that caused them. */
    ends: async () => {
      const rows = await sql<{ type: string; actorId: string; count: number }[]>`
        select type, actor_id, count(*)::int4 as count from events where project_id = ${projectId}
          and type in ('task.unassigned', 'task.released', 'task.claim_expired') group by 1, 2 order by 1, 2`
      expect(rows.every(({ actorId }) => actorId === workerActor)).toBe(true)
      return rows.map(({ type, count }) => `${type.slice(5)} ${count}`).join(', ')
    },
    lastRemoval: async (id = nilId) => {
      const [row] = await sql<{ seq: number }[]>`
        select max(seq)::float8 as seq from events where project_id = ${projectId} and type = 'member.removed'
          and ${id}::uuid in (entity_id, ${nilId}::uuid)`
      return { seq: row!.seq }
    },
  }
}
type Scene = Awaited<ReturnType<typeof openProject>>

/** What comes between the removal and the job; the assignees, the holders of claims and the events afterwards. */
const meanwhile: [
  what: string,
  happen: (scene: Scene) => unknown,
  assignees: string,
  holders: string,
  ends: string,
][] = [
  ['nothing', () => {}, '--------', 'a-------', 'released 7, unassigned 8'],
  [
    'an invitation',
    ({ guest, projectId }) => invite(ada, projectId, guest, 'EDITOR'),
    'gggggggg',
    'aggggggg',
    '',
  ],
  [
    'another assignee',
    ({ ids }) => ada.patch(`/tasks/${ids[0]}`, { assigneeId: ada.id }),
    'a-------',
    'a-------',
    'released 7, unassigned 7',
  ],
  ['the deletion of the project', ({ projectId }) => ada.delete(`/projects/${projectId}`), '', '', ''],
]

test.each(meanwhile)(
  'a removal ends the assignments and claims of the member once, and no other claim, after %s before the job',
  async (_, happen, assignees, holders, ends) => {
    const scene = await openProject()
    await scene.claim(scene.guest, scene.ids.slice(1))
    await scene.claim(ada, scene.ids.slice(0, 1))
    expect((await scene.remove()).status).toBe(200)
    await happen(scene)
    await Promise.all([scene.unassign(), scene.unassign()])
    await scene.unassign()
    expect(await scene.ends()).toBe(ends)
    if (!assignees) return
    expect([await scene.assignees(), await scene.holders()]).toEqual([assignees, holders])
    expect(await faultsOf(sql)).toEqual([])
  },
)

test('the job records a claim that had ended as expired, not as released', async () => {
  const { guest, ids, remove, unassign, ends } = await openProject()
  // The API allows no lease that ends at once.
  await run('task.claim', { id: ids[0], leaseSeconds: 0 }, guest.id)
  await remove()
  await unassign()
  expect(await ends()).toBe('claim_expired 1, unassigned 8')
})

test('undoing the removal restores the membership, and assignments that were not changed later, but no claim', async () => {
  const scene = await openProject()
  const { guest, ids, projectId, member } = scene
  await scene.claim(guest)
  await scene.remove()
  await scene.unassign()
  await ada.patch(`/tasks/${ids[0]}`, { assigneeId: ada.id })
  await ada.patch(`/tasks/${ids[1]}`, { title: 'Other' })
  await ada.patch(`/tasks/${ids[2]}`, { projectId: (await make(ada, '/projects', { name: 'Else' })).id })
  await ada.delete(`/tasks/${ids[3]}`)
  const { changes } = expectUndone(await scene.undo(await scene.lastRemoval()))
  expect(changes.map(({ type }) => type)).toEqual(['member.invited', ...Array(5).fill('task.updated')])
  expect(await scene.members()).toEqual([member.id])
  expect([await scene.assignees(), await scene.holders()]).toEqual(['aggggg', '------'])
  expect((await guest.get(`/tasks?projectId=${projectId}`)).status).toBe(200)
  // The undo of the restoration removes the member again.
  expectUndone(await scene.undo({ batch: changes[0]!.batch }))
  expect([await scene.members(), await scene.assignees()]).toEqual([[], 'a-----'])
  expect(await faultsOf(sql)).toEqual([])
})

test('an undo before, during or between two runs of the job restores all assignments', async () => {
  const scene = await openProject()
  const { ids, guest, projectId } = scene
  const job = (some: string[]) =>
    run('task.unassign', { projectId, userId: guest.id, ids: some }).catch(() => {})
  for (const round of upTo(8)) {
    await scene.remove()
    const undo = async () => expectUndone(await scene.undo(await scene.lastRemoval()))
    if (round < 6) {
      const wanted = await scene.lastRemoval()
      // All commands are in one batch, so that some tasks are unassigned between the load and the execution of the undo.
      const [, , undone] = await Promise.all([
        job(ids.slice(0, 3)),
        job(ids.slice(3, 5)),
        scene.undo(wanted),
        job(ids.slice(5)),
      ])
      expectUndone(undone)
    } else {
      if (round === 7) await job(ids.slice(0, 3))
      await undo()
      await scene.unassign()
    }
    expect(await scene.assignees()).toEqual('gggggggg')
  }
  expect(await faultsOf(sql)).toEqual([])
})

test('each of two removals of one user restores the assignments that it ended', async () => {
  const scene = await openProject()
  const { guest, projectId, ids, member } = scene
  const removed = async (memberId: string) => {
    await scene.remove(memberId)
    await scene.unassign()
    return scene.lastRemoval()
  }
  const first = await removed(member.id)
  const again = await invite(ada, projectId, guest)
  expectError(await scene.undo(first), 409, /^Seq \d+ cannot be undone: member changed since by seq \d+$/)
  await ada.patch(`/tasks/${ids[0]}`, { assigneeId: guest.id })
  expectUndone(await scene.undo(await removed(again.id)))
  expect([await scene.assignees(), await scene.members()]).toEqual(['g-------', [again.id]])
  await removed(again.id)
  expectUndone(await scene.undo(first))
  expect([await scene.assignees(), await scene.members()]).toEqual(['gggggggg', [member.id]])
  expect(await faultsOf(sql)).toEqual([])
})

test('a removal cannot be undone after the deletion of the account, nor can the deletion of a service account', async () => {
  const scene = await openProject()
  const path = `/projects/${scene.projectId}/service-accounts`
  const { id } = await make(ada, path, { name: 'Robot' })
  await ada.delete(`${path}/${id}`)
  const refused = await scene.undo(await scene.lastRemoval())
  expectError(refused, 409, 'A deleted service account cannot be restored: create a new one')
  await scene.remove()
  await scene.guest.delete('/auth/me')
  expectError(await scene.undo(await scene.lastRemoval()), 409, 'The account of this member was deleted')
})

test('a task whose assignee has left is restored without an assignee', async () => {
  const scene = await openProject()
  const { ids } = scene
  // Seq 11 deletes the task, 12 removes the member, 13 and 14 restore the task without assignee.
  await ada.delete(`/tasks/${ids[0]}`)
  await scene.remove()
  const { changes } = expectUndone(await scene.undo({ seq: 11 }))
  expect(changes.map(({ type }) => type)).toEqual(['task.created', 'task.unassigned'])
  expect((await ada.get(`/tasks/${ids[0]}`)).body.assigneeId).toBeNull()
  expect(expectUndone(await scene.undo({ seqs: [12, 14] })).changes).toHaveLength(2)
  expect((await ada.get(`/tasks/${ids[0]}`)).body.assigneeId).toBe(scene.guest.id)
  expect(await faultsOf(sql)).toEqual([])
})

// This must be the last test, because the workers keep running.
test('workers end what a removed member, a deleted account and a deleted service account hold in the project, and an undo restores it', async () => {
  const scene = await openProject()
  const { guest, projectId, ids } = scene
  const robots = `/projects/${projectId}/service-accounts`
  const robot = await make(ada, robots, { name: 'Robot', role: 'EDITOR' })
  const expiresAt = new Date(Date.now() + 86_400_000)
  const key = await make(ada, `${robots}/${robot.id}/tokens`, { name: 'Key', scopes: ['write'], expiresAt })
  const leaver = await register(service.client)
  await invite(ada, projectId, leaver, 'EDITOR')
  const { id: elsewhere } = await make(ada, '/projects', { name: 'Other' })
  await invite(ada, elsewhere, guest, 'EDITOR')
  const kept = await make(ada, '/tasks', { title: 'Kept', projectId: elsewhere, assigneeId: guest.id })
  await scene.claim(service.client.as((key as unknown as { token: string }).token), ids.slice(0, 2))
  await scene.claim(leaver, ids.slice(2, 4))
  await scene.claim(guest, ids.slice(4))
  expect(await scene.holders()).toBe('????gggg')
  const removals = [
    await ada.delete(`${robots}/${robot.id}`),
    await leaver.delete('/auth/me'),
    await scene.remove(),
  ]
  expect(removals.map(({ status }) => status)).toEqual([200, 200, 200])
  service.startWorkers()
  await untilOutboxEmpty(sql)
  expect([await scene.holders(), await scene.assignees()]).toEqual(['--------', '--------'])
  expect(await scene.ends()).toBe('released 8, unassigned 8')
  expect((await ada.get(`/tasks/${kept.id}`)).body.assigneeId).toBe(guest.id)
  for (const round of upTo(3)) {
    expectUndone(await scene.undo(await scene.lastRemoval(scene.member.id)))
    await untilOutboxEmpty(sql)
    expect(await scene.assignees()).toEqual('gggggggg')
    // An undo before the job keeps the claims.
    if (round === 1) expect(await scene.holders()).toBe('--------')
    expect((await scene.claim(guest)).every(({ status }) => status === 200)).toBe(true)
    await scene.remove()
  }
  await untilOutboxEmpty(sql)
  expect(await faultsOf(sql)).toEqual([])
})
