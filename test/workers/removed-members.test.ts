import { type Client, expectUndone, faultsOf, forFile, invite, make, makeTasks, makeToken } from '../kit.ts'
import { openTestService, register, unassignMember, type UndoResponse, upTo, workerActor } from '../kit.ts'
import { testSessions } from '../support/http-sessions.ts'
import { untilOutboxEmpty } from './remains.ts'

const service = await forFile(openTestService({ JOB_BATCH_ROWS: '3', JOB_PAUSE_MS: '1' }))
const ada = await register(service.client)
const sql = service.services.database.reads
const run = (name: string, input: object, userId = workerActor) =>
  service.services.run({ name, input, caller: { userId } })
afterEach(async () => expect(await faultsOf(sql)).toEqual([]))

/** Opens a project whose member, the guest, is the assignee of eight tasks. The tasks are events 3 to 10. */
async function openProject() {
  const guest = await register(service.client)
  const { id: projectId } = await make(ada, '/projects', { name: 'Shared' })
  const { id: memberId } = await invite(ada, projectId, guest, 'EDITOR')
  const ids = (await makeTasks(ada, projectId, 8, () => ({ assigneeId: guest.id }))).map(({ id }) => id)
  const letterOf = (id?: string | null) => (id ? ({ [ada.id]: 'a', [guest.id]: 'g' }[id] ?? '?') : '-')
  const job = { projectId, userId: guest.id }
  const unassign = () => unassignMember(sql, service.services.run, job, { batchRows: 3, pauseMs: 0 })
  return {
    ...{ guest, projectId, memberId, ids, unassign },
    remove: () => ada.delete(`/projects/${projectId}/members/${memberId}`),
    undo: (wanted: object) => ada.post(`/projects/${projectId}/undo`, wanted),
    claim: (by: Client, some = ids) =>
      Promise.all(some.map((id) => by.post(`/tasks/${id}/claim`, { leaseSeconds: 86_400 }))),
    /** The assignees and the holders of claims, a letter for each task. */
    letters: async () => {
      const { status, body } = await ada.get(`/tasks?projectId=${projectId}`)
      const tasks = (status === 200 ? body : []) as unknown as {
        assigneeId: string | null
        claim?: { by: { id: string } }
      }[]
      return [
        tasks.map(({ assigneeId }) => letterOf(assigneeId)).join(''),
        tasks.map(({ claim }) => letterOf(claim?.by.id)).join(''),
      ]
    },
    /** The number of events of each type that the job recorded. */
    ends: async () => {
      const rows = await sql<{ type: string; count: number }[]>`
        select type, count(*)::int4 as count from events where project_id = ${projectId} and actor_id = ${workerActor}
          and type in ('task.unassigned', 'task.released', 'task.claim_expired') group by 1 order by 1`
      return rows.map(({ type, count }) => `${type.slice(5)} ${count}`).join(', ')
    },
    /** The seqs of the removals of members, or of the guest. */
    removals: async (userId = '') => {
      const rows = await sql<{ seq: number }[]>`
        select seq::float8 as seq from events where project_id = ${projectId} and type = 'member.removed'
          and ${userId} in ('', before->>'userId') order by events.seq`
      return rows.map(({ seq }) => seq)
    },
  }
}

const rangeOf = (text: string) => {
  const [first = 1, last = first] = text.split('-').map(Number)
  return upTo(last).slice(first - 1)
}

testSessions('test/workers/sessions/removed-members', async () => {
  const scene = await openProject()
  const { guest, projectId, ids, undo, removals } = scene
  const { id: other } = await make(ada, '/projects', { name: 'Other' })
  const idsIn = (range: string) => rangeOf(range).map((n) => ids[n - 1]!)
  let lastUndo: UndoResponse
  const wanted: Record<string, () => Promise<object>> = {
    removal: async () => ({ seq: (await removals()).at(-1) }),
    'first-removal': async () => ({ seq: (await removals())[0] }),
    batch: async () => ({ batch: lastUndo.changes[0]!.batch }),
  }
  const commands: Record<string, (rest: string, by: Client) => unknown> = {
    claim: async (range, by) => void (await scene.claim(by, idsIn(range))),
    // The API allows no lease that ends at once.
    expire: (n) => run('task.claim', { id: ids[Number(n) - 1], leaseSeconds: 0 }, guest.id).then(() => ''),
    async remove() {
      const { body } = await ada.get(`/projects/${projectId}/members`)
      expect((await ada.delete(`/projects/${projectId}/members/${body[0]!.id}`)).status).toBe(200)
    },
    async unassign() {
      await Promise.all([scene.unassign(), scene.unassign()])
      await scene.unassign()
    },
    invite: async () => void (await invite(ada, projectId, guest, 'EDITOR')),
    async change(words) {
      const [n, fields] = words.split(/ (.*)/)
      expect((await ada.patch(`/tasks/${ids[Number(n) - 1]}`, JSON.parse(fields!))).status).toBe(200)
    },
    async undo(what) {
      const seqs = { seqs: what.split(',').map(Number) }
      const answer = await undo((await wanted[what]?.()) ?? seqs)
      if (answer.status !== 200) return `${answer.status} ${answer.body.message}`
      lastUndo = expectUndone(answer)
      const types = Map.groupBy(lastUndo.changes, ({ type }) => type)
      return [...types].map(([type, { length }]) => `${type} ${length}`).join(', ')
    },
    async show() {
      const [assignees, holders] = await scene.letters()
      return `assignees ${assignees}, claims ${holders}, ${await scene.ends()}`
    },
  }
  const values = { ada: ada.id, guest: guest.id, other, project: projectId, task: ids[0]!, fourth: ids[3]! }
  return { client: ada, people: { guest }, values, commands }
})

test('an undo before, during or between two runs of the job restores all assignments', async () => {
  const { ids, guest, projectId, remove, undo, unassign, removals, letters } = await openProject()
  const job = (some: string[]) =>
    run('task.unassign', { projectId, userId: guest.id, ids: some }).catch(() => {})
  for (const round of upTo(8)) {
    await remove()
    const seq = (await removals()).at(-1)
    if (round === 7) await job(ids.slice(0, 3))
    if (round >= 6) {
      expectUndone(await undo({ seq }))
      await unassign()
    } else {
      // All commands are in one batch, so that some tasks are unassigned between the load and the execution of the undo.
      const jobs = [job(ids.slice(0, 3)), job(ids.slice(3, 5))]
      const undone = undo({ seq })
      await Promise.all([...jobs, job(ids.slice(5))])
      expectUndone(await undone)
    }
    expect((await letters())[0]).toEqual('gggggggg')
  }
})

// This must be the last test, because the workers keep running.
test('workers end what a removed member, a deleted account and a deleted service account hold in the project, and an undo restores it', async () => {
  const { guest, projectId, ids, remove, undo, claim, letters, ends, removals } = await openProject()
  const robots = `/projects/${projectId}/service-accounts`
  const robot = await make(ada, robots, { name: 'Robot', role: 'EDITOR' })
  const key = await makeToken(ada, { scopes: ['write'] }, `${robots}/${robot.id}/tokens`)
  const leaver = await register(service.client)
  await invite(ada, projectId, leaver, 'EDITOR')
  const { id: elsewhere } = await make(ada, '/projects', { name: 'Other' })
  await invite(ada, elsewhere, guest, 'EDITOR')
  const kept = await make(ada, '/tasks', { title: 'Kept', projectId: elsewhere, assigneeId: guest.id })
  await claim(service.client.as(key.token), ids.slice(0, 2))
  await claim(leaver, ids.slice(2, 4))
  await claim(guest, ids.slice(4))
  expect(await letters()).toEqual(['gggggggg', '????gggg'])
  const removed = [await ada.delete(`${robots}/${robot.id}`), await leaver.delete('/auth/me'), await remove()]
  expect(removed.map(({ status }) => status)).toEqual([200, 200, 200])
  service.startWorkers()
  await untilOutboxEmpty(sql)
  expect(await letters()).toEqual(['--------', '--------'])
  expect(await ends()).toBe('released 8, unassigned 8')
  expect((await ada.get(`/tasks/${kept.id}`)).body.assigneeId).toBe(guest.id)
  for (const round of upTo(3)) {
    expectUndone(await undo({ seq: (await removals(guest.id)).at(-1) }))
    await untilOutboxEmpty(sql)
    // An undo before the job keeps the claims.
    expect(await letters()).toEqual(['gggggggg', round === 1 ? '--------' : expect.stringMatching(/^.{8}$/)])
    expect((await claim(guest)).every(({ status }) => status === 200)).toBe(true)
    await remove()
  }
  await untilOutboxEmpty(sql)
})
