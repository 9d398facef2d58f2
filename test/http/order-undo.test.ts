import fc from 'fast-check'
import { cases, expectError, expectUndone, faultsOf, make, openScene, readFeed, workerActor } from '../kit.ts'
import { sessionsIn } from '../support/sessions.ts'
import { fillers, openOrder, type Place } from './order-scene.ts'

const { ada, sql } = await openScene(['Ada'])
const all = 'abcdefgh'

async function open(titles = all) {
  const scene = await openOrder(ada, titles)
  const { add, at, batch, letters, put, undo, version } = scene
  const undone = async (selection: object) => expectUndone(await undo(selection))
  const move = async (title: string, place: Place) => expect((await put(title, place)).status).toBe(200)
  const remove = async (title: string) => expect((await ada.delete(`/tasks/${at(title)}`)).status).toBe(200)
  const respace = (title: string, side?: 'before') => scene.respace(at(title), side)
  /** Creates a task between all neighbours: new tasks get the keys of deleted tasks. */
  async function fill(): Promise<void> {
    await batch([...(await letters())].map((title) => ({ op: 'task.create', title: '-', after: at(title) })))
    await add('-', { place: 'first' })
  }
  const seqs: Record<string, number> = {}
  /** Runs a line of a section. */
  async function run(command: string): Promise<unknown> {
    const [verb, ...words] = command.split(' ')
    if (verb === 'fill') return fill()
    if (verb === 'respace') return respace(words.at(-1)!, words.length > 1 ? 'before' : undefined)
    if (verb === 'delete') return remove(words[0]!)
    if (verb === 'undo') return undone({ seqs: words.map((name) => seqs[name]) })
    const [, moved = '', near, place] = /^move ([a-h ]+?) (?:((?:before|after) \w)|(first|last))$/.exec(
      command,
    )!
    const [side = '', title = ''] = near?.split(' ') ?? []
    for (const one of moved.split(' '))
      await move(one, near ? { [side]: at(title) } : { place: place as 'first' })
    return undefined
  }
  return { ...scene, undone, move, remove, respace, run, seqs, last: async () => ({ seq: await version() }) }
}

/*
 * Each section is a test with the tasks a to h. `respace a` gives the tasks around a new keys. A word before `$` names
 * the change of the line, so that a later line can undo the change. The line below is the order of the tasks.
 */
test.each(sessionsIn('test/http/orders'))('%s', async (_, steps) => {
  const { run, seqs, letters, version } = await open()
  for (const { by, command, shown } of steps) {
    await run(command)
    if (by) seqs[by] = await version()
    const order = shown.trim()
    if (order) expect([command, await letters()]).toEqual([command, order])
  }
})

test('an undo restores the place of a task, even if another task now has the key of this place', async () => {
  const { at, add, last, move, remove, order, undone } = await open()
  await add('n', { after: at('b') })
  await move('n', { place: 'last' })
  const moved = await last()
  await add('m', { after: at('b') })
  await undone(moved)
  expect(['abnmcdefgh', 'abmncdefgh']).toContain(await order())
  await remove('c')
  const deleted = await last()
  await add('p', { before: at('d') })
  await undone(deleted)
  expect((await order()).replace(/[nmp]/g, '')).toBe(all)
})

test('an undo of the batch that gave other tasks new keys changes only the tasks that the batch placed', async () => {
  const { projectId, at, move, respace, letters, undone, version } = await open()
  const batch = (await version()) + 1
  await respace('b')
  await move('b', { place: 'first' })
  const types = (await undone({ batch })).changes.map(({ type }) => type)
  expect([types, await letters()]).toEqual([Array(fillers).fill('task.deleted'), 'bacdefgh'])
  // A single task may also give other tasks new keys.
  const from = await version()
  let created = 0
  for (; (await version()) === from + created; created++)
    await make(ada, '/tasks', { projectId, title: '-', after: at('b') })
  const [event] = await readFeed(ada, `/projects/${projectId}/events?after=${(await version()) - 1}`)
  const { changes } = await undone({ batch: event!.batch })
  expect(changes.map(({ type }) => type)).toEqual(['task.deleted'])
  expect(await letters()).toBe('bacdefgh')
})

test('the undo of a single move that gave other tasks new keys restores the order', async () => {
  const { run, last, order, undone, version } = await open('abcd')
  for (let n = 0, events = 1; events === 1; n++) {
    const [before, from] = [await order(), await version()]
    await run(`move ${'cd'[n % 2]} after a`)
    events = (await version()) - from
    if (events === 1) continue
    await undone(await last())
    expect(await order()).toBe(before)
  }
})

test('the service is the actor of the events with new keys, and an undo of these events changes nothing', async () => {
  const { projectId, respace, letters, undone, version } = await open('abcd')
  const after = await version()
  await respace('b')
  const path = `/projects/${projectId}/events?after=${after}&limit=200&types=task.updated`
  const events = await readFeed(ada, path)
  expect(events.length).toBeGreaterThan(1)
  for (const { actor, before } of events) {
    expect(actor).toEqual({ id: workerActor, name: null })
    expect(Object.keys(before!).filter((name) => name !== 'updatedAt')).toEqual(['position'])
  }
  const now = await version()
  const nothing = await undone({ seqs: events.map(({ seq }) => seq) })
  expect([nothing, await version(), await letters()]).toEqual([{ version: now, changes: [] }, now, 'abcd'])
})

test('a later move rejects the undo with 409, which names only this move; a dry run changes nothing', async () => {
  const { run, last, undo, letters, version } = await open()
  await run('move d after a')
  const first = await last()
  await run('respace a')
  const before = await version()
  expect([(await undo(first, ada, '?dryRun=true')).status, await version()]).toEqual([200, before])
  await run('move d first')
  const { seq } = await last()
  await run('respace d')
  const message = `Seq ${first.seq} cannot be undone: position changed since by seq ${seq}`
  expectError(await undo(first), 409, message)
  expect(await letters()).toBe('dabcefgh')
})

test('an undo of random moves and deletions restores the order, with new keys between them and after them', async () => {
  const scene = await open()
  const title = fc.constantFrom(...all)
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
