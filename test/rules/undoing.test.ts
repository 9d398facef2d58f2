import fc from 'fast-check'
import { type Answer, type Body, cases, expectUndone, openScene, type Person } from '../kit.ts'
import { purgeTask, type UndoResponse, versionOf, words } from '../kit.ts'
import { assertInTime, batchOf, openWorld, requestWaves, step } from './random-requests.ts'
import { assigneeHadLeft, difference, faultsOfAll, fieldsOf, forgetAll, readEvents } from './states.ts'
import { readStreams, reversed, type State, stateOf, takenPositions } from './states.ts'
import { unassignedOnRestore } from './states.ts'
import type { Step, Verb } from './verbs.ts'

const { service, ada, bea, cyd, dan } = await openScene(['Ada', 'Bea', 'Cyd', 'Dan'])
const people: Person[] = [ada, bea, cyd, dan]
const sql = service.services.database.reads
const stateNow = () => stateOf(sql)

async function begin(waves: Step[][]) {
  await forgetAll(sql)
  const opened = await openWorld([people, people])
  for (const wave of waves) await Promise.all(wave.map(opened.run))
  return opened
}

/**
 * Runs a step and returns its events with the state before and after, or undefined if the events cannot be undone.
 * @param known the state before the step, if it is known
 */
async function doneBy(run: () => Promise<unknown>, known?: State) {
  const before = known ?? (await stateNow())
  const were = new Map((await readStreams(sql)).map(({ projectId, version }) => [projectId, version]))
  await run()
  const events = (await readEvents(sql)).filter(({ projectId, seq }) => seq > (were.get(projectId) ?? 0))
  const [first] = events
  const isPossible =
    first && events.every(({ type }) => !/^project\.(created|deleted)|task\.(moved|released)/.test(type))
  const batch = first?.batch == null ? null : Number(first.batch)
  return isPossible ? { ...first, batch, events, before, after: await stateNow() } : undefined
}
type Done = NonNullable<Awaited<ReturnType<typeof doneBy>>>

const undo = async ({ projectId, seq, batch, events }: Omit<Done, 'before' | 'after'>, n = 0) => {
  const seqs = events.map((event) => event.seq)
  const selection = batch !== null && n % 2 ? { batch } : seqs.length > 1 ? { seqs } : { seq }
  return ada.post(`/projects/${projectId}/undo`, selection)
}

/** Undoes a change. Returns undefined if the undo would assign a task to a user who had already left. */
async function undoneBy(done: Done, n: number) {
  let isRejected = false
  const undone = await doneBy(async () => {
    const answer = await undo(done, n)
    isRejected = answer.status === 409 && assigneeHadLeft(done.events, done.before)
    if (isRejected)
      expect(answer.body.message).toBe('The previous assignee is no longer a member of the project')
    else expectUndone(answer)
  }, done.after)
  if (isRejected) return undefined
  // The undo of a claim cannot be undone.
  if (!undone) expect(done.events.map(({ type }) => type)).toContain('task.claimed')
  return undone
}

const runs = { numRuns: cases(10), withinMs: 30_000 }
const undoneTypes = new Set<string>()

async function checkUndo(done: Done, n: number, isRedone: boolean): Promise<void> {
  const undone = await undoneBy(done, n)
  if (!undone) return
  undoneTypes.add(done.type)
  const unassigned = unassignedOnRestore(done.events, done.before)
  const kept = new Map(unassigned.map((key) => [key, { was: done.before.get(key), is: null as unknown }]))
  expect(difference(done.before, undone.after)).toEqual(kept)
  if (!isRedone) return
  const redone = await undoneBy(undone, n)
  expect(difference(done.after, redone!.after)).toEqual(new Map())
}

test('undoing any change restores the state before the change, and undoing the undo restores the state after the change', async () => {
  const steps = fc.array(step, { minLength: 5, maxLength: 12 })
  const property = fc.asyncProperty(requestWaves(4), steps, async (waves, steps) => {
    const { run } = await begin(waves)
    for (const one of steps) {
      const done = await doneBy(() => run({ ...one, who: 0, process: 0 }))
      if (done) await checkUndo(done, one.value, one.other % 2 === 0)
    }
  })
  await assertInTime(property, { ...runs, isCovered: () => undoneTypes.size > 5 })
  expect(undoneTypes.size).toBeGreaterThan(5)
  expect(await faultsOfAll(sql)).toEqual([])
})

const assigneeLeaves = (['assignTask', 'removeMember'] as const).map((verb): Step[] => [
  { verb, who: 0, process: 0, pick: 0, other: 2, value: 0 },
])

test('undoing any batch restores the state before the batch, and undoing the undo restores the state after the batch', async () => {
  let batches = 0
  const choices = fc.array(fc.nat({ max: 99 }), { minLength: 1, maxLength: 8 })
  const many = fc.array(choices, { minLength: 3, maxLength: 6 })
  const property = fc.asyncProperty(requestWaves(4), many, async (waves, all) => {
    const { world } = await begin(waves)
    for (const some of all) {
      const operations = batchOf(world, ada.id, some)
      const path = `/projects/${world.projects[0]!.id}/batch`
      const done = await doneBy(() => ada.post(path, { operations }))
      if (!done) continue
      batches++
      await checkUndo(done, some[0]!, true)
    }
  })
  await assertInTime(property, { ...runs, examples: [[assigneeLeaves, [[6]]]], isCovered: () => batches > 5 })
  expect(batches).toBeGreaterThan(5)
  expect(await faultsOfAll(sql)).toEqual([])
})

const reasons =
  /no longer a member of the project|cannot be undone: (task|comment|subtask|member|label|claim|field|view) changed since|already has a (label named|field with)|must not form a cycle|Project not found/

test('an undo keeps later changes of other fields, and is rejected if the same fields were changed later', async () => {
  let [accepted, rejected] = [0, 0]
  const others = fc.array(step, { minLength: 1, maxLength: 5 })
  const many = fc.array(fc.tuple(step, others), { minLength: 4, maxLength: 8 })
  const property = fc.asyncProperty(requestWaves(4), many, async (waves, all) => {
    const { run } = await begin(waves)
    for (const [one, others] of all) {
      const done = await doneBy(() => run({ ...one, who: 0, process: 0 }))
      if (!done) continue
      for (const other of others) await run({ ...other, process: 0 })
      const between = await stateNow()
      const { status, body } = await undo(done, one.value)
      const did = difference(done.before, done.after)
      const now = difference(between, await stateNow())
      if (status === 200) {
        accepted++
        const back = reversed(did)
        for (const key of unassignedOnRestore(done.events, done.before, between)) back.get(key)!.is = null
        for (const key of takenPositions(back, between)) for (const all of [now, back]) all.delete(key)
        expect(now).toEqual(back)
      } else {
        rejected++
        expect(now).toEqual(new Map())
        const touched = [...did.keys(), ...done.events.flatMap(fieldsOf)]
        const isChangedLater = touched.some((key) => between.get(key) !== done.after.get(key))
        const { message } = body as Body
        expect([status, message, isChangedLater || reasons.test(message)]).toEqual([status, message, true])
      }
    }
  })
  await assertInTime(property, { ...runs, isCovered: () => Math.min(accepted, rejected) > 0 })
  expect(Math.min(accepted, rejected)).toBeGreaterThan(0)
})

async function purgeTasks() {
  const owed = await sql<{ data: { taskId: string; eventId: string } }[]>`
    select data from outbox where name = 'purge-task' order by id`
  for (const { data } of owed) await purgeTask(sql, data, { batchRows: 100, pauseMs: 0 })
}

const verbsOfChildren =
  words(`addComment editComment deleteComment addSubtask changeSubtask deleteSubtask deleteTask
  undo undo undo`) as Verb[]
const ofChildren = fc.record({
  verb: fc.constantFrom(...verbsOfChildren),
  pick: fc.nat({ max: 3 }),
  /** The distances of the events to undo from the latest event. */
  back: fc.uniqueArray(fc.nat({ max: 5 }), { minLength: 1, maxLength: 5, size: 'max' }),
  isPurged: fc.boolean(),
})
const summaryOf = ({ status, body }: Answer) =>
  status === 200
    ? (body as unknown as UndoResponse).changes.map(({ type, undoes }) => `${type} ${undoes}`)
    : body.message

/** Undoes several events, with a purge before and after, and then undoes the undo. Returns the status. */
async function undoSeveral(projectId: string, back: number[], isPurged: boolean): Promise<number> {
  const version = await versionOf(ada, projectId)
  const seqs = [...new Set(back.map((n) => Math.max(version - n, 2)))]
  const send = (query = '', selection: object = { seqs }) =>
    ada.post(`/projects/${projectId}/undo${query}`, selection)
  const before = await stateNow()
  const expected = summaryOf(await send('?dryRun=true'))
  await purgeTasks()
  expect(summaryOf(await send('?dryRun=true'))).toEqual(expected)
  const answer = await send()
  expect(summaryOf(answer)).toEqual(expected)
  const after = await stateNow()
  await purgeTasks()
  expect(await stateNow()).toEqual(after)
  if (answer.status !== 200 || isPurged) return answer.status
  const { seq, batch } = (answer.body as unknown as UndoResponse).changes[0]!
  expect((await send('', batch === null ? { seq } : { batch })).status).toBe(200)
  expect(difference(before, await stateNow())).toEqual(new Map())
  return answer.status
}

test('an undo of several events has the same result before and after workers purge rows, and can be undone', async () => {
  const statuses = new Set<number>()
  const steps = fc.array(ofChildren, { minLength: 8, maxLength: 20, size: 'max' })
  const property = fc.asyncProperty(steps, async (steps) => {
    const { world, run } = await begin([])
    const { id } = world.projects[0]!
    for (const { verb, pick, back, isPurged } of steps) {
      if (isPurged) await purgeTasks()
      if (verb !== 'undo') await run({ verb, pick, other: 0, value: back[0]!, who: 0, process: 0 })
      else statuses.add(await undoSeveral(id, back, isPurged))
    }
    await purgeTasks()
    expect(await faultsOfAll(sql)).toEqual([])
  })
  await assertInTime(property, { ...runs, isCovered: () => statuses.size > 1 })
  expect([...statuses].sort()).toEqual([200, 409])
})
