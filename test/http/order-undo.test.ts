import fc from 'fast-check'
import { cases, expectError, expectUndone, faultsOf, invite, make, openScene, workerActor } from '../kit.ts'
import type { Person } from '../kit.ts'
import { batchResult } from './batch-scene.ts'
import { openOrder, type Place } from './order-scene.ts'

const { ada, bea, sql } = await openScene(['Ada', 'Bea'])

/** Enough tasks in one place that the tasks around it get new keys. */
const fillers = 300

async function openFilled(titles: string) {
  const scene = await openOrder(ada, titles)
  const { projectId, at, batch, version } = scene
  const last = async () => ({ seq: await version() })
  return {
    ...scene,
    /** Places tasks directly after a task until other tasks get new keys. */
    async respace(after: string): Promise<void> {
      const from = await version()
      const operation = { op: 'task.create', title: '-', after: at(after) }
      const operations = Array.from({ length: fillers }, () => operation)
      expect(batchResult(await batch(operations)).version).toBeGreaterThan(from + fillers)
    },
    /** The order of the tasks with titles. */
    letters: async (query = '') => (await scene.order(query, 200)).replaceAll('-', ''),
    last,
    undoBy: (person: Person, selection: object) => person.post(`/projects/${projectId}/undo`, selection),
    async move(title: string, place: Place): Promise<{ seq: number }> {
      expect((await scene.put(title, place)).status).toBe(200)
      return last()
    },
    async remove(title: string): Promise<{ seq: number }> {
      expect((await ada.delete(`/tasks/${at(title)}`)).status).toBe(200)
      return last()
    },
  }
}

test('a move can be undone by everybody, and the undo too, after the tasks around it got new keys', async () => {
  const { projectId, at, move, respace, letters, undoBy, last, version } = await openFilled('abcd')
  await invite(ada, projectId, bea, 'EDITOR')
  const moved = await move('d', { after: at('a') })
  await respace('a')
  const then = await version()
  expectUndone(await undoBy(ada, moved))
  expect(await letters()).toBe('abcd')
  const undone = await last()
  await respace('c')
  expectUndone(await undoBy(bea, undone))
  expect(await letters()).toBe('adbc')
  const redone = await last()
  await respace('d')
  expectUndone(await undoBy(ada, redone))
  expect(await letters()).toBe('abcd')
  expect(await letters(`&asOf=${then}`)).toBe('adbc')
  expect(await faultsOf(sql)).toEqual([])
})

test('an undo restores the first, a middle and the last place, also if only the tasks around that place got new keys', async () => {
  for (const title of ['a', 'b', 'e']) {
    const { at, move, respace, letters, undoBy } = await openFilled('abcdef')
    const moved = await move(title, { after: at('f') })
    await respace('c')
    expectUndone(await undoBy(ada, moved))
    expect([title, await letters()]).toEqual([title, 'abcdef'])
  }
  const { move, respace, letters, undoBy } = await openFilled('abcdef')
  const moved = await move('f', { place: 'first' })
  await respace('c')
  expectUndone(await undoBy(ada, moved))
  expect(await letters()).toBe('abcdef')
})

test('deleted neighbours return in their order after the tasks around them got new keys', async () => {
  const { projectId, remove, respace, letters, undoBy, version } = await openFilled('abcdef')
  const [c, d] = [await remove('c'), await remove('d')]
  await respace('a')
  await respace('e')
  const seqs = [c.seq, d.seq]
  const before = await version()
  const dryRun = await ada.post(`/projects/${projectId}/undo?dryRun=true`, { seqs })
  expect([dryRun.status, await version()]).toEqual([200, before])
  expectUndone(await undoBy(ada, { seqs }))
  expect(await letters()).toBe('abcdef')
  expect(await faultsOf(sql)).toEqual([])
})

test('deleted tasks return one after another, in any order, after new tasks took their keys', async () => {
  const titles = [...'abcdefgh']
  for (const [first, second, third] of ['cde', 'edc', 'abh', 'hga', 'dbf']) {
    const { add, at, batch, move, remove, respace, letters, undoBy } = await openFilled(titles.join(''))
    // Keys that are not made from the numbers of the tasks.
    for (const title of titles) await move(title, { before: at('a') }).catch(() => {})
    const order = await letters()
    const removed = [await remove(first!), await remove(second!), await remove(third!)]
    const left = [...order].filter((title) => ![first, second, third].includes(title))
    // Between the same neighbours, new tasks get the keys of the deleted tasks.
    await batch(left.map((title) => ({ op: 'task.create', title: '-', after: at(title) })))
    await add('-', { place: 'first' })
    await respace(left[1]!)
    for (const one of removed) expectUndone(await undoBy(ada, one))
    expect([first, await letters()]).toEqual([first, order])
  }
  expect(await faultsOf(sql)).toEqual([])
})

test('a task that moved several times is undone in one request, with new keys between the moves and after them', async () => {
  const { at, move, remove, respace, letters, undoBy } = await openFilled('abcdef')
  const seqs: number[] = []
  const step = async (done: Promise<{ seq: number }>) => seqs.push((await done).seq)
  await step(move('b', { after: at('d') }))
  await respace('d')
  await step(move('b', { place: 'first' }))
  await respace('b')
  await step(move('b', { after: at('e') }))
  await step(remove('b'))
  await respace('e')
  expectUndone(await undoBy(ada, { seqs }))
  expect(await letters()).toBe('abcdef')
  expect(await faultsOf(sql)).toEqual([])
})

test('an undo of the batch that gave other tasks new keys changes only the tasks that the batch placed', async () => {
  const { move, respace, letters, undoBy, version, order } = await openFilled('abcd')
  const batch = (await version()) + 1
  await respace('b')
  await move('b', { place: 'first' })
  expect(await letters()).toBe('bacd')
  const { changes } = expectUndone(await undoBy(ada, { batch }))
  expect(new Set(changes.map(({ type }) => type))).toEqual(new Set(['task.deleted']))
  expect([changes.length, await order('', 200)]).toEqual([fillers, 'bacd'])
})

test('a single task whose place gave other tasks new keys is undone by its batch', async () => {
  const { projectId, at, letters, undoBy, version } = await openFilled('abcd')
  let created = 0
  for (let before = await version(); (await version()) === before + created; created++)
    await make(ada, '/tasks', { projectId, title: 'x', after: at('b') })
  const { body } = await ada.get(`/projects/${projectId}/events?after=${(await version()) - 1}`)
  const [{ batch } = { batch: 0 }] = body as unknown as { batch: number }[]
  const { changes } = expectUndone(await undoBy(ada, { batch }))
  expect(changes.map(({ type }) => type)).toEqual(['task.deleted'])
  expect((await letters()).replaceAll('x', '')).toBe('abcd')
})

test('the service is the actor of the events with new keys, and an undo of these events changes nothing', async () => {
  const { projectId, respace, letters, undoBy, version } = await openFilled('abcd')
  const after = await version()
  await respace('b')
  const { body } = await ada.get(`/projects/${projectId}/events?after=${after}&limit=200&types=task.updated`)
  const events = body as unknown as { seq: number; actor: object; before: object; after: object }[]
  expect(events.length).toBeGreaterThan(1)
  for (const { actor, before } of events) {
    expect(actor).toEqual({ id: workerActor, name: null })
    expect(Object.keys(before).filter((name) => name !== 'updatedAt')).toEqual(['position'])
  }
  const now = await version()
  const undone = expectUndone(await undoBy(ada, { seqs: events.map(({ seq }) => seq) }))
  expect([undone, await version(), await letters()]).toEqual([{ version: now, changes: [] }, now, 'abcd'])
})

test('a later move still rejects the undo with 409, which names only this move', async () => {
  const { at, move, respace, undoBy, letters } = await openFilled('abcd')
  const first = await move('d', { after: at('a') })
  await respace('a')
  const second = await move('d', { place: 'first' })
  await respace('d')
  const message = `Seq ${first.seq} cannot be undone: position changed since by seq ${second.seq}`
  expectError(await undoBy(ada, first), 409, message)
  expect(await letters()).toBe('dabc')
})

test('an undo restores the order of the other tasks after random moves, deletions and new keys', async () => {
  const titles = 'abcdefgh'
  const scene = await openFilled(titles)
  const title = fc.constantFrom(...titles)
  const property = fc.asyncProperty(
    ...([
      title,
      title,
      fc.constantFrom('before', 'after', 'delete'),
      fc.array(title, { maxLength: 2 }),
    ] as const),
    async (moved, near, how, places) => {
      const before = await scene.letters()
      const version = await scene.version()
      if (how === 'delete') await scene.remove(moved)
      else if (moved !== near) await scene.move(moved, { [how]: scene.at(near) })
      if ((await scene.version()) === version) return
      const changed = await scene.last()
      for (const place of places) if (place !== moved) await scene.respace(place)
      expectUndone(await scene.undoBy(ada, changed))
      expect(await scene.letters()).toBe(before)
    },
  )
  await fc.assert(property, { numRuns: cases(10), endOnFailure: true })
  expect(await faultsOf(sql)).toEqual([])
})
