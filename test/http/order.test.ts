import { exported, linesOf } from '../exports/scene.ts'
import { allPages, applyEvent, emptyReplica, expectError, faultsOf, malformedIds, openScene } from '../kit.ts'
import { Random, readFeed, unknownId } from '../kit.ts'
import type { FeedEvent } from '../kit.ts'
import { batchResult } from './batch-scene.ts'
import { openOrder, type Place } from './order-scene.ts'

const { ada, sql } = await openScene(['Ada'])

test('tasks are in the order of creation until a client changes the order', async () => {
  const { at, order, put } = await openOrder(ada, 'abcd')
  expect(await order()).toBe('abcd')
  const steps: [title: string, place: Place, order: string][] = [
    ['c', { before: at('a') }, 'cabd'],
    ['a', { after: at('b') }, 'cbad'],
    ['d', { place: 'first' }, 'dcba'],
    ['d', { place: 'last' }, 'cbad'],
    ['c', { place: 'last' }, 'badc'],
    ['b', { before: at('c') }, 'adbc'],
    ['a', { after: at('c') }, 'dbca'],
  ]
  for (const [title, place, after] of steps) {
    expect((await put(title, place)).status).toBe(200)
    expect([place, await order()]).toEqual([place, after])
  }
})

test('a new task is last, or at the place that the client names', async () => {
  const { at, add, order, put } = await openOrder(ada, 'ab')
  await put('a', { place: 'last' })
  await add('c')
  await add('d', { after: at('b') })
  await add('e', { before: at('b') })
  await add('f', { place: 'first' })
  await add('g', { place: 'last' })
  await add('h', { after: at('g') })
  expect(await order()).toBe('febdacgh')
})

test('a new place and other fields are one event, and the same place again writes no event', async () => {
  const { at, order, put, version } = await openOrder(ada, 'abc')
  const before = await version()
  expect((await put('c', { before: at('b'), status: 'DONE' } as Place)).body).toMatchObject({
    status: 'DONE',
  })
  expect([await order(), await version()]).toEqual(['acb', before + 1])
  for (const [title, place] of [
    ['c', { after: at('a') }],
    ['c', { before: at('b') }],
    ['a', { place: 'first' }],
    ['b', { place: 'last' }],
  ] as const)
    expect((await put(title, place)).status).toBe(200)
  expect([await order(), await version()]).toEqual(['acb', before + 1])
})

test('rejects several places, a malformed neighbour and the task itself with 400, and a missing neighbour with 409', async () => {
  const { projectId, at, order, put, version, batch } = await openOrder(ada, 'abc')
  const other = await openOrder(ada, 'x')
  await ada.delete(`/tasks/${at('c')}`)
  const before = await version()
  const cases: [place: object, status: number, message: RegExp | string][] = [
    [{ before: at('b'), place: 'last' }, 400, 'Send at most one of before, after and place'],
    [{ before: at('b'), after: at('b') }, 400, 'Send at most one of before, after and place'],
    [{ before: at('a') }, 400, 'before must be the id of another task'],
    [{ after: at('a') }, 400, 'after must be the id of another task'],
    [{ place: 'middle' }, 400, /^place must be one of/],
    [{ place: null }, 400, /^place must be one of/],
    [{ after: null }, 400, /^after must be/],
    ...malformedIds.map((id): [object, number, RegExp] => [{ after: id }, 400, /^after must be/]),
    ...[unknownId, at('c'), other.at('x')].map((id): [object, number, string] => [
      { after: id },
      409,
      `Task ${id} is not in the project: it was deleted or moved`,
    ]),
  ]
  for (const [place, status, message] of cases) {
    expectError(await put('a', place), status, message)
    const isOwn = /another task/.test(String(message))
    if (!isOwn) expectError(await ada.post('/tasks', { title: 'n', projectId, ...place }), status, message)
    const operation = { op: 'task.update', id: at('a'), ...place }
    expectError(await batch([operation]), status, new RegExp(isOwn || status === 409 ? 'operations.0.' : ''))
  }
  const moves = { projectId: other.projectId, place: 'first' }
  expectError(await put('a', moves as Place), 400, /^before, after and place cannot be sent with a projectId/)
  expect((await put('b', { projectId, place: 'first' } as Place)).status).toBe(200)
  expect([await order(), await version()]).toEqual(['ba', before + 1])
})

test('operations of a batch place tasks next to tasks of earlier operations', async () => {
  const { at, order, batch } = await openOrder(ada, 'ab')
  batchResult(
    await batch([
      { op: 'task.create', as: 'one', title: '1', after: at('a') },
      { op: 'task.create', as: 'two', title: '2', before: '#one' },
      { op: 'task.create', as: 'three', title: '3' },
      { op: 'task.update', id: at('a'), after: '#three' },
      { op: 'task.update', id: '#two', after: at('b') },
      { op: 'task.create', title: '4', after: '#three' },
      { op: 'task.delete', id: '#one' },
      { op: 'task.create', title: '5', place: 'first' },
    ]),
  )
  expect(await order()).toBe('5b234a')
  expectError(await batch([{ op: 'task.create', title: '6', after: '#one' }]), 400, /after must be an id/)
})

test('a task that moves to another project is the last task of that project, also when it moves back', async () => {
  const { projectId, order, put } = await openOrder(ada, 'abc')
  const other = await openOrder(ada, 'xyz')
  await put('c', { place: 'first' })
  await put('c', { projectId: other.projectId } as Place)
  expect([await order(), await other.order()]).toEqual(['ab', 'xyzc'])
  await put('c', { place: 'first' })
  await put('c', { projectId } as Place)
  expect([await order(), await other.order()]).toEqual(['abc', 'xyz'])
})

test('a list as of an earlier version has the order of that version', async () => {
  const { at, add, order, put, version } = await openOrder(ada, 'abcde')
  const seen: [version: number, order: string][] = []
  for (const step of [
    () => put('e', { after: at('a') }),
    () => put('b', { place: 'first', status: 'DONE' } as Place),
    () => add('f', { before: at('c') }),
    () => ada.delete(`/tasks/${at('d')}`),
    () => put('a', { place: 'last' }),
    () => ada.post(`/tasks/${at('f')}/claim`, { leaseSeconds: 60 }),
    () => put('c', { before: at('f') }),
  ]) {
    seen.push([await version(), await order()])
    await step()
  }
  for (const [then, was] of seen) expect([then, await order(`&asOf=${then}`)]).toEqual([then, was])
  expect(new Set(seen.map(([, was]) => was)).size).toBeGreaterThan(5)
})

test('an undo restores the place of a task, even if another task now has the key of this place', async () => {
  const { at, add, order, put, version, undo } = await openOrder(ada, 'abcd')
  await add('n', { after: at('b') })
  await put('n', { place: 'last' })
  const moved = await version()
  // This task gets the key that the first task had.
  await add('m', { after: at('b') })
  expect(await order()).toBe('abmcdn')
  expect((await undo({ seq: moved })).status).toBe(200)
  expect(['abnmcd', 'abmncd']).toContain(await order())
  await ada.delete(`/tasks/${at('c')}`)
  const deleted = await version()
  await add('p', { before: at('d') })
  expect((await undo({ seq: deleted })).status).toBe(200)
  expect((await order()).replace(/[nmp]/g, '')).toBe('abcd')
  expect(await faultsOf(sql)).toEqual([])
})

test('if a batch places many tasks between two tasks, other tasks get new keys in the same batch', async () => {
  const { projectId, order, at, ids, batch, version, undo } = await openOrder(ada, 'ab')
  const letters = Array.from({ length: 260 }, (_, n) => String.fromCodePoint(0x4e00 + n))
  const operations = letters.map((title, n) => {
    const near = n === 0 ? at('a') : `#${n - 1}`
    return { op: 'task.create', as: `${n}`, title, ...(n % 2 ? { before: near } : { after: near }) }
  })
  const before = await version()
  const { results } = batchResult(await batch(operations))
  for (const [n, { id }] of results.entries()) ids.set(letters[n]!, id)
  const [odd, even] = [1, 0].map((rest) => letters.filter((_, n) => n % 2 === rest))
  const expected = [...odd!, ...even!.toReversed()].join('')
  const placed = `a${expected}b`
  expect([await order(), (await version()) > before + 260 + 64]).toEqual([placed, true])
  const keys = await sql<{ position: string }[]>`
    select position from tasks where project_id = ${projectId} and position is not null`
  expect(Math.max(...keys.map(({ position }) => position.length))).toBeLessThanOrEqual(48)
  for (let then = before + 50; then < (await version()); then += 37) {
    const shown = [...(await order(`&asOf=${then}`, 200))]
    expect([then, shown.join('')]).toEqual([then, [...placed].filter((one) => shown.includes(one)).join('')])
  }
  expect(await undo({ batch: before + 1 })).toMatchObject({ status: 200 })
  expect(await order()).toBe('ab')
})

test('new keys keep the order of all tasks, also of tasks that the batch did not load', async () => {
  for (const near of 'abcd') {
    const { at, batch, order } = await openOrder(ada, 'abcd')
    const operation = { op: 'task.create', title: '-', after: at(near) }
    expect(batchResult(await batch(Array.from({ length: 300 }, () => operation))).version).toBeGreaterThan(
      305,
    )
    expect((await order('', 200)).replace(/-+/, '-')).toBe('abcd'.replace(near, `${near}-`))
  }
  expect(await faultsOf(sql)).toEqual([])
})

const byPosition = (tasks: Iterable<Record<string, unknown>>) =>
  [...tasks]
    .toSorted((a, b) => Buffer.compare(Buffer.from(String(a.position)), Buffer.from(String(b.position))))
    .map(({ id, position }) => [id, position])

test('a client that only reads the feed keeps the order of the project at every version', async () => {
  const titles = [...'abcdefgh']
  const [scene, other] = [await openOrder(ada, 'abcdefgh'), await openOrder(ada, 'xy')]
  const { projectId, at, add, put, version, undo, batch } = scene
  const random = new Random(Date.now())
  const some = () => at(random.pick(titles)!)
  const place = (): Place =>
    random.pick<Place>([{ before: some() }, { after: some() }, { place: 'first' }, { place: 'last' }])!
  // So many tasks in one place that the tasks around it get new keys.
  const respace = async () => {
    const { body } = await ada.get(`/tasks?projectId=${projectId}&limit=1`)
    const operation = { op: 'task.create', title: '-', after: body[0]!.id }
    expect((await batch(Array.from({ length: 300 }, () => operation))).status).toBe(200)
  }
  const steps: (() => Promise<unknown>)[] = [
    () => ada.post('/tasks', { title: 'n', projectId, ...place() }),
    () => add('n'),
    () => put(random.pick(titles)!, place()),
    () => put(random.pick(titles)!, place()),
    async () => ada.delete(`/tasks/${some()}`),
    async () => undo({ seq: (await version()) - random.below(8) }),
    async () => undo({ batch: (await version()) - random.below(3) }),
    async () => ada.patch(`/tasks/${some()}`, { projectId: other.projectId }),
    async () => ada.patch(`/tasks/${some()}`, { projectId }),
    respace,
  ]
  for (let n = 0; n < 60; n++) await (n === 0 ? respace : random.pick(steps)!)()
  const { id: last } = await add('z', { place: 'first' })
  await put('z', { place: 'last' })
  const events = await readFeed(ada, `/projects/${projectId}/events?after=0&limit=200`)
  const replica = emptyReplica()
  const isRespacing = ({ actor, before }: FeedEvent) => actor.name === null && before?.position !== undefined
  expect(events.filter(isRespacing).length).toBeGreaterThan(0)
  const sampled = new Set(Array.from({ length: 8 }, () => 1 + random.below(events.length)))
  for (const event of events) {
    applyEvent(replica, event)
    const { seq } = event
    if (!sampled.has(seq) && seq < events.length) continue
    const path = `/tasks?projectId=${projectId}&sort=position&limit=200&asOf=${seq}`
    const listed = (await allPages(ada, path)).flat().map(({ id, position }) => [id, position])
    expect([seq, byPosition(replica.task.values())]).toEqual([seq, listed])
  }
  expect(byPosition(replica.task.values()).at(-1)![0]).toBe(last)
})

test('new keys are events with the position before and after, and undo shows the position of before', async () => {
  const { projectId, at, put, batch, undo, version } = await openOrder(ada, 'abc')
  const positionOf = async (title: string) => (await ada.get(`/tasks/${at(title)}`)).body.position
  const before = await positionOf('c')
  expect([await positionOf('a'), before]).toEqual(['j0000000001', 'j0000000003'])
  await put('c', { place: 'first' })
  const moved = (await ada.get(`/projects/${projectId}/events?after=${(await version()) - 1}`)).body[0]
  const placed = await positionOf('c')
  expect(moved).toMatchObject({ before: { position: before }, after: { position: placed } })
  expect((await undo({ seq: await version() })).body).toMatchObject({
    changes: [{ before: { position: placed }, after: { position: before } }],
  })
  const operation = { op: 'task.create', title: '-', after: at('a') }
  const from = await version()
  await batch(Array.from({ length: 300 }, () => operation))
  const events = await readFeed(
    ada,
    `/projects/${projectId}/events?after=${from}&limit=200&types=task.updated`,
  )
  expect(events.length).toBeGreaterThan(0)
  for (const event of events) {
    const [was, is] = [event.before!.position, event.after!.position]
    expect([typeof was, typeof is, was === is]).toEqual(['string', 'string', false])
  }
})

test('every read of a task shows its position, which no request can set', async () => {
  const { projectId, at, add, put } = await openOrder(ada, 'abcd')
  await put('d', { after: at('a') })
  const task = (await ada.get(`/tasks/${at('d')}`)).body
  expect(task.position).toMatch(/^j0000000001./)
  for (const limit of [50, 100])
    for (const sort of ['createdAt', 'position']) {
      const { body } = await ada.get(`/tasks?projectId=${projectId}&sort=${sort}&limit=${limit}`)
      expect(body.find(({ id }) => id === task.id)).toEqual(task)
    }
  for (const format of ['ndjson', 'docket']) {
    const lines = linesOf(await exported(ada, projectId, `format=${format}`))
    expect(lines.find(({ id }) => id === task.id)).toMatchObject({ position: task.position })
  }
  const csv = await exported(ada, projectId, 'format=csv')
  expect(csv).not.toContain('position')
  const sent = { ...task, position: '0' }
  expect((await ada.patch(`/tasks/${task.id}`, sent)).body).toEqual(task)
  expect((await add('e', { position: '0' })).position).toBe('j0000000005')
  const operation = { op: 'task.update', id: task.id, position: '0', was: { position: task.position } }
  expect(await ada.post(`/projects/${projectId}/batch`, { operations: [operation] })).toMatchObject({
    status: 200,
  })
  expect((await ada.get(`/tasks/${task.id}`)).body).toEqual(task)
  const { status } = await ada.post(`/projects/${projectId}/batch`, {
    operations: [{ ...operation, was: { position: '0' } }],
  })
  expect(status).toBe(409)
})
