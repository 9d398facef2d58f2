import fc from 'fast-check'
import { cases, expectError, expectUndone, faultsOf, invite, make, openScene, readFeed } from '../kit.ts'
import { workerActor } from '../kit.ts'
import { fillers, openOrder, type Place } from './order-scene.ts'

const { ada, bea, sql } = await openScene(['Ada', 'Bea'])

async function openFilled(titles: string) {
  const scene = await openOrder(ada, titles)
  const { at, put, undo, version } = scene
  const last = async () => ({ seq: await version() })
  return {
    ...scene,
    last,
    respace: (title: string) => scene.respace(at(title)),
    undone: async (selection: object, by = ada) => expectUndone(await undo(selection, by)),
    async move(title: string, place: Place): Promise<{ seq: number }> {
      expect((await put(title, place)).status).toBe(200)
      return last()
    },
    async remove(title: string): Promise<{ seq: number }> {
      expect((await ada.delete(`/tasks/${at(title)}`)).status).toBe(200)
      return last()
    },
  }
}

test('a move can be undone by everybody, and the undo too, after the tasks around it got new keys', async () => {
  const { projectId, at, move, respace, letters, undone, last, version } = await openFilled('abcd')
  await invite(ada, projectId, bea, 'EDITOR')
  const moved = await move('d', { after: at('a') })
  await respace('a')
  const then = await version()
  await undone(moved)
  expect(await letters()).toBe('abcd')
  const undo = await last()
  await respace('c')
  await undone(undo, bea)
  expect(await letters()).toBe('adbc')
  const redo = await last()
  await respace('d')
  await undone(redo)
  expect([await letters(), await letters(`&asOf=${then}`)]).toEqual(['abcd', 'adbc'])
  expect(await faultsOf(sql)).toEqual([])
})

test('an undo restores the first, a middle and the last place, and deleted neighbours, also if only the tasks around that place got new keys', async () => {
  for (const [title, place] of [
    ['a', 'last'],
    ['b', 'last'],
    ['e', 'last'],
    ['f', 'first'],
  ] as const) {
    const { move, respace, letters, undone } = await openFilled('abcdef')
    const moved = await move(title, { place })
    await respace('c')
    await undone(moved)
    expect([title, await letters()]).toEqual([title, 'abcdef'])
  }
  const { remove, respace, letters, undone } = await openFilled('abcdef')
  const seqs = [(await remove('c')).seq, (await remove('d')).seq]
  for (const title of 'ae') await respace(title)
  await undone({ seqs })
  expect(await letters()).toBe('abcdef')
})

test('an undo restores the place of a task, even if another task now has the key of this place', async () => {
  const { at, add, move, remove, order, undone } = await openFilled('abcd')
  await add('n', { after: at('b') })
  const moved = await move('n', { place: 'last' })
  await add('m', { after: at('b') })
  await undone(moved)
  expect(['abnmcd', 'abmncd']).toContain(await order())
  const deleted = await remove('c')
  await add('p', { before: at('d') })
  await undone(deleted)
  expect((await order()).replace(/[nmp]/g, '')).toBe('abcd')
})

test('deleted tasks return one after another, in any order, after new tasks took their keys', async () => {
  const titles = [...'abcdefgh']
  for (const [first, second, third] of ['cde', 'edc', 'abh', 'hga', 'dbf']) {
    const { add, at, batch, move, remove, respace, letters, undone } = await openFilled(titles.join(''))
    // Keys that are not made from the numbers of the tasks.
    for (const title of titles.slice(1)) await move(title, { before: at('a') })
    const order = await letters()
    const removed = [await remove(first!), await remove(second!), await remove(third!)]
    const left = [...order].filter((title) => ![first, second, third].includes(title))
    // Between the same neighbours, new tasks get the keys of the deleted tasks.
    await batch(left.map((title) => ({ op: 'task.create', title: '-', after: at(title) })))
    await add('-', { place: 'first' })
    await respace(left[1]!)
    for (const one of removed) await undone(one)
    expect([first, await letters()]).toEqual([first, order])
  }
  expect(await faultsOf(sql)).toEqual([])
})

test('several moves and deletions are undone in one request, with new keys between the moves and after them', async () => {
  const { at, move, remove, respace, letters, undo, undone, version } = await openFilled('abcdef')
  const seqs: number[] = []
  const step = async (done: Promise<{ seq: number }>) => seqs.push((await done).seq)
  await step(move('b', { after: at('d') }))
  await respace('d')
  await step(move('b', { place: 'first' }))
  await respace('b')
  await step(move('b', { after: at('e') }))
  for (const title of 'bcd') await step(remove(title))
  for (const title of 'ae') await respace(title)
  const before = await version()
  const dryRun = await undo({ seqs }, ada, '?dryRun=true')
  expect([dryRun.status, await version()]).toEqual([200, before])
  await undone({ seqs })
  expect(await letters()).toBe('abcdef')
  expect(await faultsOf(sql)).toEqual([])
})

test('an undo of the batch that gave other tasks new keys changes only the tasks that the batch placed', async () => {
  const { projectId, at, move, respace, letters, undone, version } = await openFilled('abcd')
  const batch = (await version()) + 1
  await respace('b')
  await move('b', { place: 'first' })
  const types = (await undone({ batch })).changes.map(({ type }) => type)
  expect([types.length, new Set(types), await letters()]).toEqual([
    fillers,
    new Set(['task.deleted']),
    'bacd',
  ])
  // A single task may also give other tasks new keys.
  const from = await version()
  let created = 0
  for (; (await version()) === from + created; created++)
    await make(ada, '/tasks', { projectId, title: '-', after: at('b') })
  const [event] = await readFeed(ada, `/projects/${projectId}/events?after=${(await version()) - 1}`)
  const { changes } = await undone({ batch: event!.batch })
  expect(changes.map(({ type }) => type)).toEqual(['task.deleted'])
  expect(await letters()).toBe('bacd')
})

test('the service is the actor of the events with new keys, and an undo of these events changes nothing', async () => {
  const { projectId, respace, letters, undone, version } = await openFilled('abcd')
  const after = await version()
  await respace('b')
  const events = await readFeed(
    ada,
    `/projects/${projectId}/events?after=${after}&limit=200&types=task.updated`,
  )
  expect(events.length).toBeGreaterThan(1)
  for (const { actor, before } of events) {
    expect(actor).toEqual({ id: workerActor, name: null })
    expect(Object.keys(before!).filter((name) => name !== 'updatedAt')).toEqual(['position'])
  }
  const now = await version()
  const nothing = await undone({ seqs: events.map(({ seq }) => seq) })
  expect([nothing, await version(), await letters()]).toEqual([{ version: now, changes: [] }, now, 'abcd'])
})

test('a later move still rejects the undo with 409, which names only this move', async () => {
  const { at, move, respace, undo, letters } = await openFilled('abcd')
  const first = await move('d', { after: at('a') })
  await respace('a')
  const second = await move('d', { place: 'first' })
  await respace('d')
  const message = `Seq ${first.seq} cannot be undone: position changed since by seq ${second.seq}`
  expectError(await undo(first), 409, message)
  expect(await letters()).toBe('dabc')
})

test('an undo keeps the order of several tasks whose places became one place', async () => {
  for (const [moved, place, near] of [
    ['hg', 'first', 'f'],
    ['gh', 'first', 'f'],
    ['ab', 'last', 'c'],
    ['ba', 'last', 'c'],
  ] as const) {
    const { move, respace, letters, undone } = await openFilled('abcdefgh')
    const seqs = []
    for (const title of moved) seqs.push((await move(title, { place })).seq)
    await respace(near)
    await undone({ seqs })
    expect([moved, await letters()]).toEqual([moved, 'abcdefgh'])
  }
})

test('an undo of random moves and deletions restores the order, with new keys between them and after them', async () => {
  const titles = 'abcdefgh'
  const scene = await openFilled(titles)
  const title = fc.constantFrom(...titles)
  const how = fc.constantFrom('before', 'after', 'delete', 'respace', 'respace')
  const steps = fc.array(fc.tuple(title, how, title), { minLength: 4, maxLength: 10 })
  const property = fc.asyncProperty(steps, async (steps) => {
    const before = await scene.letters()
    const seqs: number[] = []
    const deleted = new Set<string>()
    for (const [title, how, near] of steps) {
      if (title === near || deleted.has(title) || deleted.has(near)) continue
      const version = await scene.version()
      if (how === 'respace') await scene.respace(title)
      else if (how === 'delete') await scene.remove(title)
      else await scene.move(title, { [how]: scene.at(near) })
      if (how === 'delete') deleted.add(title)
      const { seq } = await scene.last()
      if (how !== 'respace' && seq > version) seqs.push(seq)
    }
    if (seqs.length === 0) return
    await scene.undone({ seqs })
    expect(await scene.letters()).toBe(before)
  })
  await fc.assert(property, { numRuns: cases(6), endOnFailure: true })
  expect(await faultsOf(sql)).toEqual([])
})
