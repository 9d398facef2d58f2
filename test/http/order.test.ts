import { allPages, applyEvent, emptyReplica, faultsOf, openScene, Random, readFeed, upTo } from '../kit.ts'
import { workerActor } from '../kit.ts'
import type { Body } from '../kit.ts'
import { batchResult, newTask } from './batch-scene.ts'
import { openOrder, type Place } from './order-scene.ts'

const { ada, sql } = await openScene(['Ada'])

test('tasks are in the order of creation until a client changes the order; each version keeps its order', async () => {
  const { at, add, order, put, version } = await openOrder(ada, 'abcd')
  const steps: [change: () => Promise<unknown>, order: string][] = [
    [() => put('c', { before: at('a') }), 'cabd'],
    [() => put('a', { after: at('b') }), 'cbad'],
    [() => put('d', { place: 'first', status: 'DONE' }), 'dcba'],
    [() => put('d', { place: 'last' }), 'cbad'],
    [() => put('c', { place: 'last' }), 'badc'],
    [() => put('b', { before: at('c') }), 'adbc'],
    [() => put('a', { after: at('c') }), 'dbca'],
    [() => add('e'), 'dbcae'],
    [() => add('f', { after: at('b') }), 'dbfcae'],
    [() => add('g', { before: at('b') }), 'dgbfcae'],
    [() => add('h', { place: 'first' }), 'hdgbfcae'],
    [() => ada.post(`/tasks/${at('f')}/claim`, { leaseSeconds: 60 }), 'hdgbfcae'],
    [() => ada.delete(`/tasks/${at('d')}`), 'hgbfcae'],
    [() => add('i', { place: 'last' }), 'hgbfcaei'],
    [() => add('j', { after: at('i') }), 'hgbfcaeij'],
  ]
  const seen: [version: number, order: string][] = [[await version(), await order()]]
  for (const [change, expected] of steps) {
    await change()
    expect(await order()).toBe(expected)
    seen.push([await version(), expected])
  }
  for (const [then, was] of seen) expect([then, await order(`&asOf=${then}`)]).toEqual([then, was])
})

test('if a batch places many tasks between two tasks, other tasks get new keys in the same batch', async () => {
  const { projectId, order, at, batch, version, undo } = await openOrder(ada, 'ab')
  const letters = upTo(260).map((n) => String.fromCodePoint(0x4e00 + n))
  const operations = letters.map((title, n) => {
    const near = n === 0 ? at('a') : `#t${n - 1}`
    return newTask(title, { as: `t${n}`, ...(n % 2 ? { before: near } : { after: near }) })
  })
  const before = await version()
  batchResult(await batch(operations))
  const [odd, even] = [1, 0].map((rest) => letters.filter((_, n) => n % 2 === rest))
  const placed = `a${[...odd!, ...even!.toReversed()].join('')}b`
  expect([await order('', 50), (await version()) > before + 260 + 64]).toEqual([placed, true])
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

test('new keys keep the order of all tasks, also of tasks that the batch did not load, and are events', async () => {
  const { projectId, at, respace, version } = await openOrder(ada, 'abcd')
  const list = `/tasks?projectId=${projectId}&sort=position&limit=200`
  const idsNow = async () => (await allPages(ada, list)).flat().map(({ id }) => id)
  for (const near of 'abcdab') {
    const [from, before] = [await version(), await idsNow()]
    await respace(at(near))
    const after = await idsNow()
    const added = new Set(after).difference(new Set(before))
    const place = before.indexOf(at(near)) + 1
    const placed = after.slice(place, place + added.size)
    expect([new Set(placed), after.filter((id) => !added.has(id))]).toEqual([added, before])
    const path = `/projects/${projectId}/events?after=${from}&limit=200&types=task.updated`
    const changes = (await readFeed(ada, path)).map((event) => [
      event.before!.position,
      event.after!.position,
    ])
    expect(changes.length).toBeGreaterThan(0)
    for (const [was, is] of changes)
      expect([typeof was, typeof is, was === is]).toEqual(['string', 'string', false])
  }
  expect(await faultsOf(sql)).toEqual([])
})

test('a move that gives other tasks new keys is the only event of the moved task', async () => {
  const { projectId, at, batch, order, version } = await openOrder(ada, 'abcd')
  const from = await version()
  const operations = upTo(400).map((n) => ({ op: 'task.update', id: at('dc'[n % 2]!), after: at('a') }))
  batchResult(await batch(operations))
  const respaced = new Set<string>()
  let moves = 0
  for (const { actor, entityId } of await readFeed(
    ada,
    `/projects/${projectId}/events?after=${from}&limit=500`,
  )) {
    if (actor.id === workerActor) respaced.add(entityId)
    else {
      expect([++moves, respaced.has(entityId)]).toEqual([moves, false])
      respaced.clear()
    }
  }
  expect([await order(), moves, (await version()) - from > moves]).toEqual(['adcb', 400, true])
})

const sortedBy = (name: 'position' | 'id', rows: Iterable<object>) => {
  const key = (row: object) => Buffer.from((row as Body)[name])
  return [...rows].toSorted((a, b) => Buffer.compare(key(a), key(b)))
}

test('a client that only reads the feed has the rows of the project and their order at every version', async () => {
  const titles = [...'abcdefgh']
  const [scene, other] = [await openOrder(ada, 'abcdefgh'), await openOrder(ada, 'xy')]
  const { projectId, at, add, put, version, undo, respace } = scene
  const random = new Random(Date.now())
  const some = () => at(random.pick(titles)!)
  const place = (): Place =>
    random.pick<Place>([{ before: some() }, { after: some() }, { place: 'first' }, { place: 'last' }])!
  const steps: (() => Promise<unknown>)[] = [
    () => ada.post('/tasks', { title: 'n', projectId, ...place() }),
    () => add('n'),
    () => put(random.pick(titles)!, place()),
    () => put(random.pick(titles)!, place()),
    () => ada.patch(`/tasks/${some()}`, { status: 'DONE', description: `D${random.below(9)}` }),
    () => ada.post(`/tasks/${some()}/subtasks`, { title: 'S' }),
    () => ada.post(`/tasks/${some()}/comments`, { text: 'C' }),
    () => ada.delete(`/tasks/${some()}`),
    async () => undo({ seq: (await version()) - random.below(8) }),
    async () => undo({ batch: (await version()) - random.below(3) }),
    () => ada.patch(`/tasks/${some()}`, { projectId: other.projectId }),
    () => ada.patch(`/tasks/${some()}`, { projectId }),
  ]
  await respace((await ada.get(`/tasks?projectId=${projectId}&limit=1`)).body[0]!.id)
  for (let n = 0; n < 80; n++) await random.pick(steps)!()
  const { id: last } = await add('z', { place: 'first' })
  await put('z', { place: 'last' })
  const events = await readFeed(ada, `/projects/${projectId}/events?after=0&limit=200`)
  const replica = emptyReplica()
  const sampled = new Set(upTo(8).map(() => 1 + random.below(events.length)))
  for (const event of events) {
    applyEvent(replica, event)
    const { seq } = event
    if (!sampled.has(seq) && seq < events.length) continue
    const path = `/tasks?projectId=${projectId}&sort=position&limit=200&asOf=${seq}`
    const listed = (await allPages(ada, path)).flat()
    expect([seq, sortedBy('position', replica.task.values())]).toEqual([seq, listed])
  }
  const tasks = sortedBy('position', replica.task.values()) as Body[]
  expect(tasks.at(-1)!.id).toBe(last)
  const busy = tasks.filter(({ title }) => title !== '-')
  for (const [list, rows] of Object.entries({ subtasks: replica.subtask, comments: replica.comment })) {
    const pages = await Promise.all(busy.map(({ id }) => allPages(ada, `/tasks/${id}/${list}`)))
    expect(sortedBy('id', rows.values())).toEqual(sortedBy('id', pages.flat(2)))
  }
})
