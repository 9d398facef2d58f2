import { expectError, expectResponse, expectUndone, faultsOf, make, newId, upTo } from '../kit.ts'
import { type Blocked, blockersOf, etagOf, openBlockerScene } from './blocker-scene.ts'

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
