import { changesOf, eventually, expectError, expectResponse, expectUndone, faultsOf } from '../kit.ts'
import { holdTransaction, make, newId, openUndoScene, upTo, versionOf } from '../kit.ts'
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

test('blockedByIds has the order that the client sent, and is empty by default', async () => {
  expect((scene.task as Blocked).blockedByIds).toEqual([])
  const [a, b, c] = [await create('A'), await create('B'), await create('C')]
  const made = await create('D', { blockedByIds: [b.id, a.id.toUpperCase()] })
  expect(made.blockedByIds).toEqual([b.id, a.id])
  expectResponse(await ada.get(`/tasks/${made.id}`), 200, made)
  expect(blockersOf(await patch(made.id, { blockedByIds: [c.id, b.id] }))).toEqual([c.id, b.id])
  const seq = await version()
  expect(blockersOf(await patch(made.id, { blockedByIds: [c.id, b.id] }))).toEqual([c.id, b.id])
  expect(await version()).toBe(seq)
  expect(blockersOf(await patch(made.id, { addBlockedByIds: [a.id, b.id] }))).toEqual([c.id, b.id, a.id])
  expect(blockersOf(await patch(made.id, { removeBlockedByIds: [b.id, newId()] }))).toEqual([c.id, a.id])
  expect(blockersOf(await patch(made.id, { title: 'E' }))).toEqual([c.id, a.id])
  expect(blockersOf(await patch(made.id, { blockedByIds: [] }))).toEqual([])
  expect(await shown(made.id, `?asOf=${seq}`)).toEqual([c.id, b.id])
  expect(await faultsOf(sql)).toEqual([])
})

test('rejects unknown, repeated and too many blockers, blockers of another project, and the task itself', async () => {
  const { id } = scene.task
  const other = await create('Other', {}, (await make(ada, '/projects', { name: 'Q' })).id)
  const [a] = [await create('A')]
  for (const field of ['blockedByIds', 'addBlockedByIds'])
    for (const one of [newId(), other.id, 'x', '\0', scene.project.id])
      expectError(
        await patch(id, { [field]: [one] }),
        400,
        `${field} must be the ids of tasks in the project`,
      )
  const body = { title: 'T', projectId: scene.project.id, blockedByIds: [other.id] }
  expectError(await ada.post('/tasks', body), 400, 'blockedByIds must be the ids of tasks in the project')
  for (const field of ['blockedByIds', 'addBlockedByIds'])
    expectError(await patch(id, { [field]: [id] }), 400, 'blockedByIds must not contain the task itself')
  expectError(await patch(id, { blockedByIds: [a.id, a.id.toUpperCase()] }), 400, /^blockedByIds must be/)
  expectError(await patch(id, { blockedByIds: null }), 400, /^blockedByIds must be/)
  expectError(
    await patch(id, { blockedByIds: upTo(51).map(() => newId()) }),
    400,
    /^blockedByIds must be .* at most 50/,
  )
  for (const edit of ['addBlockedByIds', 'removeBlockedByIds'])
    expectError(
      await patch(id, { blockedByIds: [], [edit]: [a.id] }),
      400,
      'Send blockedByIds, or addBlockedByIds and removeBlockedByIds',
    )
  await batch(upTo(51).map((n) => ({ op: 'task.create', title: `B${n}` })))
  const all = (await ada.get(`/tasks?projectId=${scene.project.id}&limit=200`)).body.map((task) => task.id)
  const [last, ...fifty] = all.slice(-51) as [string, ...string[]]
  expect(blockersOf(await patch(id, { blockedByIds: fifty }))).toEqual(fifty)
  expectError(await patch(id, { addBlockedByIds: [last] }), 409, 'A task has at most 50 blockedByIds')
  await ada.delete(`/tasks/${fifty[0]}`)
  expect(blockersOf(await patch(id, { addBlockedByIds: [last] }))).toEqual([...fifty.slice(1), last])
})

test('rejects a cycle of blockers with 409, and names its tasks', async () => {
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

test('a batch may refer to blockers by name, and a cycle rejects the whole batch', async () => {
  const [a, b] = await createChain('A', 'B')
  const answer = await batch(
    [
      { op: 'task.create', as: 'x', title: 'X', blockedByIds: [a] },
      { op: 'task.create', as: 'y', title: 'Y', blockedByIds: ['#x', b] },
      { op: 'task.update', id: '#x', removeBlockedByIds: [a], addBlockedByIds: [b] },
      { op: 'task.update', id: a, was: { blockedByIds: [b] }, addBlockedByIds: ['#y'] },
    ],
    {},
    '?return=full',
  )
  expect([answer.status, answer.text]).toEqual([200, answer.text])
  const results = (answer.body as unknown as { results: Blocked[] }).results
  const [x, y] = results as [Blocked, Blocked]
  expect(results.map(({ blockedByIds }) => blockedByIds)).toEqual([[a], [x.id, b], [b], [b, y.id]])
  const before = await version()
  const cyclic = [
    { op: 'task.create', as: 'z', title: 'Z', blockedByIds: [a] },
    { op: 'task.update', id: x.id, addBlockedByIds: ['#z'] },
  ]
  const path =
    /^operations\[1\]: .*#4 "X" is blocked by #6 "Z", which is blocked by #3 "A", which is blocked by #5 "Y"/
  expectError(await batch(cyclic), 409, path)
  expect(await version()).toBe(before)
  expect(await faultsOf(sql)).toEqual([])
})

test('a deleted blocker disappears from every response at once, ETags change, and an undo restores the blocker', async () => {
  const [a, b] = [await create('A'), await create('B')]
  const { id } = await create('T', { blockedByIds: [a.id, b.id] })
  const paths = [`/tasks/${id}`, `/tasks?projectId=${scene.project.id}`]
  const etags = async () => Promise.all(paths.map(async (path) => etagOf(await ada.get(path))))
  const before = await etags()
  const events = await version()
  await ada.delete(`/tasks/${a.id}`)
  const seq = await version()
  expect(seq).toBe(events + 1)
  const during = await etags()
  for (const n of [0, 1]) expect(during[n]).not.toBe(before[n]!)
  expect(await shown(id)).toEqual([b.id])
  const listed = (await ada.get(paths[1]!)).body as unknown as Blocked[]
  expect(listed.at(-1)!.blockedByIds).toEqual([b.id])
  expect(await shown(id, `?asOf=${seq}`)).toEqual([b.id])
  expect(await shown(id, `?asOf=${seq - 1}`)).toEqual([a.id, b.id])
  const renamed = await patch(id, { title: 'U' })
  expect(blockersOf(renamed)).toEqual([b.id])
  expect(etagOf(await ada.get(paths[0]!))).toBe(etagOf(renamed))
  expect(blockersOf(await patch(id, { blockedByIds: [b.id] }))).toEqual([b.id])
  expectUndone(await undo({ seq }))
  expect(await shown(id)).toEqual([a.id, b.id])
  expect(await etags()).not.toContain(during[0])
  expect(await shown(id, `?asOf=${seq + 1}`)).toEqual([b.id])
  expect(await faultsOf(sql)).toEqual([])
})

const readEvents = async (projectId: string, after: number) => {
  const { body } = await ada.get(`/projects/${projectId}/events?after=${after}`)
  return (body as unknown as { type: string; before: Blocked | null; after: Blocked | null }[]).map(
    (event) => [event.type, event.before?.blockedByIds, event.after?.blockedByIds],
  )
}

test('an undo of changed blockers, and of the undo, restores the lists', async () => {
  const [a, b] = [await create('A'), await create('B')]
  const { id } = await create('T', { blockedByIds: [a.id] })
  await patch(id, { addBlockedByIds: [b.id] })
  const seq = await version()
  expect(changesOf(expectUndone(await undo({ seq })))).toEqual([`task.updated ${seq}`])
  expect(await shown(id)).toEqual([a.id])
  expectUndone(await undo({ seq: seq + 1 }))
  expect(await shown(id)).toEqual([a.id, b.id])
  await patch(id, { blockedByIds: [] })
  expectError(await undo({ seq }), 409, /blockedByIds/)
  await ada.delete(`/tasks/${a.id}`)
  expectUndone(await undo({ seq: seq + 3 }))
  expect(await shown(id)).toEqual([b.id])
  expect(await faultsOf(sql)).toEqual([])
})

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
