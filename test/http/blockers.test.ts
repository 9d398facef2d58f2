import { eventually, expectError, expectUndone, faultsOf, holdTransaction, make } from '../kit.ts'
import { openUndoScene } from '../kit.ts'
import { readFeed, runBatch, upTo, versionOf } from '../kit.ts'
import type { Answer, Body } from '../kit.ts'

type Blocked = Body & { blockedByIds: string[] }

const blockersOf = ({ body }: Answer) => (body as Blocked).blockedByIds
const etagOf = ({ headers }: Answer) => headers.get('etag')!

/** Before each test, creates Ada's project with a task, events 1 and 2. */
async function openBlockerScene() {
  const scene = await openUndoScene()
  beforeEach(async () => void (await scene.setUp()))
  const { ada } = scene
  const create = async (title: string, fields: object = {}, projectId = scene.project.id) =>
    (await make(ada, '/tasks', { title, projectId, ...fields })) as Blocked
  return Object.assign(scene, {
    create,
    /** Creates tasks of which each is blocked by the next. */
    async createChain(...titles: string[]) {
      const ids: string[] = []
      for (const title of titles.toReversed())
        ids.unshift((await create(title, { blockedByIds: ids.slice(0, 1) })).id)
      return ids as [string, string, ...string[]]
    },
    patch: (id: string, fields: object) => ada.patch(`/tasks/${id}`, fields),
    shown: async (id: string, query = '') => blockersOf(await ada.get(`/tasks/${id}${query}`)),
  })
}

const scene = await openBlockerScene()
const { ada, undo, batch, version, sql, create, createChain, patch, shown } = scene

test('a task cannot block itself, and a cycle of blockers gets 409 with its tasks', async () => {
  for (const field of ['blockedByIds', 'addBlockedByIds']) {
    const own = await patch(scene.task.id, { [field]: [scene.task.id] })
    expectError(own, 400, 'blockedByIds must not contain the task itself')
  }
  const [a, b, c] = await createChain('A', 'B', 'C')
  const [x] = [await create('X')]
  const cyclic = `blockedByIds must not form a cycle: #2 "C" is blocked by #4 "A", which is blocked by #3 "B", which is blocked by #2 "C"`
  expectError(await patch(c!, { addBlockedByIds: [x.id, a] }), 409, cyclic)
  expectError(await patch(c!, { blockedByIds: [a] }), 409, cyclic)
  await patch(b, { status: 'DONE' })
  expectError(await patch(c!, { blockedByIds: [a] }), 409, cyclic)
  expectError(await batch([{ op: 'task.update', id: c, blockedByIds: [a] }]), 409, `operations[0]: ${cyclic}`)
  await patch(b, { blockedByIds: [] })
  expect((await patch(c!, { blockedByIds: [a] })).status).toBe(200)
  expectError(
    await patch(b, { blockedByIds: [c] }),
    409,
    /#3 "B" is blocked by #2 "C", which is blocked by #4 "A", which/,
  )
})

test('an error names the shortest cycle, and at most 20 of its tasks', async () => {
  const operations = upTo(60).map((n) => ({
    ...{ op: 'task.create', as: `t${n}`, title: `T${n}` },
    ...(n > 1 && { blockedByIds: [`#t${n - 1}`] }),
  }))
  const short = { op: 'task.create', as: 's', title: 'S', blockedByIds: ['#t1'] }
  const { results } = (await batch([...operations, short])).body as unknown as { results: Blocked[] }
  const [first, last, one] = [results[0]!.id, results[59]!.id, results[60]!.id]
  const shortest = '#2 "T1" is blocked by #62 "S", which is blocked by #2 "T1"'
  expectError(
    await patch(first, { blockedByIds: [last, one] }),
    409,
    `blockedByIds must not form a cycle: ${shortest}`,
  )
  const { message } = (await patch(first, { blockedByIds: [last] })).body
  expect(message.split('which is blocked by')).toHaveLength(21)
  expect(message).toEndWith('#43 "T42", which is blocked by 40 more tasks, which is blocked by #2 "T1"')
})

test('a cycle that a batch would form rejects the whole batch', async () => {
  const [a, b] = await createChain('A', 'B')
  const operations = [
    { op: 'task.create', as: 'y', title: 'Y', blockedByIds: [b] },
    { op: 'task.create', as: 'x', title: 'X', blockedByIds: ['#y'] },
    { op: 'task.update', id: a, was: { blockedByIds: [b] }, addBlockedByIds: ['#y'] },
  ]
  const [, x] = await runBatch(ada, scene.project.id, operations)
  const before = await version()
  const cyclic = [
    { op: 'task.create', as: 'z', title: 'Z', blockedByIds: [x!.id] },
    { op: 'task.update', id: b, addBlockedByIds: ['#z'] },
  ]
  const path =
    /^operations\[1\]: .*#2 "B" is blocked by #6 "Z", which is blocked by #5 "X", which is blocked by #4 "Y"/
  expectError(await batch(cyclic), 409, path)
  expect(await version()).toBe(before)
  expect(await faultsOf(sql)).toEqual([])
})

const readEvents = async (projectId: string, after: number) => {
  const events = await readFeed(ada, `/projects/${projectId}/events?after=${after}`)
  return events.map((event) => [event.type, event.before?.blockedByIds, event.after?.blockedByIds])
}

test('an undo that would form a cycle gets 409 with the path, whether it restores blockers or a task', async () => {
  const [a, b] = await createChain('A', 'B')
  await patch(a, { removeBlockedByIds: [b] })
  const removed = await version()
  await patch(b, { blockedByIds: [a] })
  const cycle =
    /^blockedByIds must not form a cycle: #3 "A" is blocked by #2 "B", which is blocked by #3 "A"$/
  expectError(await undo({ seq: removed }), 409, cycle)
  await patch(b, { blockedByIds: [] })
  expectUndone(await undo({ seq: removed }))
  const [c] = await createChain('C', 'D')
  await patch(b, { blockedByIds: [c] })
  await ada.delete(`/tasks/${b}`)
  const deleted = await version()
  await patch(c, { addBlockedByIds: [a] })
  expectError(
    await undo({ seq: deleted }),
    409,
    /^blockedByIds must not form a cycle: #2 "B" is blocked by #5 "C"/,
  )
  await patch(c, { removeBlockedByIds: [a] })
  expectUndone(await undo({ seq: deleted }))
  expect([await shown(a), await shown(b)]).toEqual([[b], [c]])
  expect(await faultsOf(sql)).toEqual([])
})

test('changes of a blocked task in the same commit as the undo that restores the task show its blockers', async () => {
  const [a, b] = await createChain('A', 'B')
  const other = await make(ada, '/projects', { name: 'Other' })
  const { actors, database } = scene.service.services
  const untilWaiting = (count: number) =>
    eventually(`${count} waiting writes`, () => actors.load().waiting === count)
  for (const _ of upTo(5)) {
    await ada.delete(`/tasks/${a}`)
    const seq = await version()
    // After the arrival of a task, the process forgets the rows of the project.
    await patch((await create('Moving', {}, other.id)).id, { projectId: scene.project.id })
    const release = await holdTransaction(
      database.background,
      (tx) => tx`select from streams where project_id = ${scene.project.id} for update`,
    )
    // The undo and the changes wait together until the first write is committed.
    const first = create('First')
    await untilWaiting(1)
    const undone = undo({ seq })
    await untilWaiting(2)
    const changes = upTo(5).map((n) => patch(a, { title: `U${n}` }))
    await untilWaiting(7)
    await release()
    await first
    expectUndone(await undone)
    for (const answer of await Promise.all(changes))
      expect([answer.status, blockersOf(answer)]).toEqual([200, [b]])
  }
  await ada.delete(`/tasks/${b}`)
  expect(blockersOf(await patch(a, { title: 'W' }))).toEqual([])
})

test('a move removes the blockers of a task, and removes the task from the blockers of other tasks in the same commit', async () => {
  const [x, task, below] = (await createChain('X', 'T', 'Below')) as [string, string, string]
  const y = await create('Y', { blockedByIds: [task, below] })
  const to = await make(ada, '/projects', { name: 'To' })
  const there = await create('There', {}, to.id)
  const [from, before] = [scene.project.id, await version()]
  const answer = await patch(task, { projectId: to.id })
  expect([answer.status, blockersOf(answer)]).toEqual([200, []])
  expect(etagOf(await ada.get(`/tasks/${task}`))).toBe(etagOf(answer))
  expect(await readEvents(from, before)).toEqual([
    ['task.updated', [task], []],
    ['task.updated', [task, below], [below]],
    ['task.moved_out', [below], undefined],
  ])
  expect((await readEvents(to.id, 2)).map(([type, , after]) => [type, after])).toEqual([
    ['task.moved_in', []],
  ])
  expect([await shown(x), await shown(y.id), await shown(task)]).toEqual([[], [below], []])
  expect(await shown(x, `?asOf=${before}`)).toEqual([task])
  expect(await shown(task, `?asOf=${before}&projectId=${from}`)).toEqual([below])
  expectError(
    await patch(task, { projectId: from, blockedByIds: [there.id] }),
    400,
    /^blockedByIds must be the ids/,
  )
  const back = await patch(task, { projectId: from, blockedByIds: [y.id] })
  expect([back.status, blockersOf(back)]).toEqual([200, [y.id]])
  expectError(await patch(below, { blockedByIds: [task] }), 409, /^blockedByIds must not form a cycle/)
  expect(await faultsOf(sql)).toEqual([])
})

test('a restored task does not show a blocker that has moved away; a move back that would form a cycle gets 409', async () => {
  const [a, b] = await createChain('A', 'B')
  const to = await make(ada, '/projects', { name: 'To' })
  await ada.delete(`/tasks/${a}`)
  const seq = await version()
  await patch(b, { projectId: to.id })
  expectUndone(await undo({ seq }))
  expect(await shown(a)).toEqual([])
  expect(blockersOf(await patch(a, { title: 'U' }))).toEqual([])
  expectError(
    await patch(b, { projectId: scene.project.id, blockedByIds: [a] }),
    409,
    /^blockedByIds must not form a cycle/,
  )
  expect(await faultsOf(sql)).toEqual([])
})

test('a task that blocks 500 tasks can move, and a task that blocks more gets 409', async () => {
  const blocked = { blockedByIds: [scene.task.id] }
  const operations = upTo(500).map((n) => ({ op: 'task.create', title: `T${n}`, ...blocked }))
  expect((await batch(operations)).status).toBe(200)
  const { id } = await create('More', blocked)
  const to = await make(ada, '/projects', { name: 'To' })
  const message =
    'A task that blocks more than 500 tasks, or 4000000 characters in them, cannot move to another project'
  expectError(await patch(scene.task.id, { projectId: to.id }), 409, message)
  await patch(id, { blockedByIds: [] })
  const before = await version()
  expect((await patch(scene.task.id, { projectId: to.id })).status).toBe(200)
  expect([(await version()) - before, await versionOf(ada, to.id)]).toEqual([501, 2])
  expect(await faultsOf(sql)).toEqual([])
})

test('a task with more than 5,000 direct and indirect blockers gets 409', async () => {
  const { id: projectId } = scene.project
  await sql`insert into tasks (id, project_id, number, title, status, priority, created_at, updated_at, event_id, blocked_by_ids)
    select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, ${projectId}, n + 10, 'T', 'TODO', 'LOW', now(), now(),
      (select event_id from tasks where id = ${scene.task.id}),
      case when n > 1 then array[('00000000-0000-7000-8000-' || lpad((n - 1)::text, 12, '0'))::uuid] end
    from generate_series(1, 5001) n`
  const idOf = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`
  const most = 'A task can be blocked by at most 5000 tasks, directly or through other tasks'
  const [tooMany, few] = await Promise.all([
    patch(scene.task.id, { blockedByIds: [idOf(5001)] }),
    ada.post('/tasks', { title: 'N', projectId, blockedByIds: [idOf(3)] }),
  ])
  expectError(tooMany!, 409, most)
  expect(few!.status).toBe(201)
  expect((await patch(scene.task.id, { blockedByIds: [idOf(5000)] })).status).toBe(200)
})
