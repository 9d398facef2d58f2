import fc from 'fast-check'
import { assigneeNotMember } from '../../modules/undo/decide-undo.ts'
import { type Body, cases, expectUndone as doneOf, faultsOf, openScene, type Person } from '../kit.ts'
import { readEvents, readStreams } from './history.ts'
import { assertInTime } from './time-limit.ts'
import { batchOf } from './random-batch.ts'
import { openWorld, assigneeHasLeft, requestWaves, step } from './random-requests.ts'
import { difference, fieldsOf, assigneeHadLeft, unassignedOnRestore, reversed } from './states.ts'
import { takenPositions, stateOf, forgetAll } from './states.ts'
import type { State } from './states.ts'
import type { Step } from './verbs.ts'

const { service, ada, bea, cyd, dan } = await openScene(['Ada', 'Bea', 'Cyd', 'Dan'])
const people: Person[] = [ada, bea, cyd, dan]
const sql = service.services.database.reads

async function begin(waves: Step[][]) {
  await forgetAll(sql)
  const opened = await openWorld([people, people])
  for (const wave of waves) await Promise.all(wave.map(opened.run))
  return opened
}

const stateNow = () => stateOf(sql)

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
async function undoneBy(done: Done, n = 0) {
  let isRejected = false
  const undone = await doneBy(async () => {
    const answer = await undo(done, n)
    isRejected = answer.status === 409 && assigneeHadLeft(done.events, done.before)
    if (isRejected) expect((answer.body as Body).message).toBe(assigneeNotMember().message)
    else doneOf(answer)
  }, done.after)
  if (isRejected) return undefined
  // The undo of a claim cannot be undone.
  if (!undone) expect(done.events.map(({ type }) => type)).toContain('task.claimed')
  return undone
}

const unassigned = ({ events, before }: Done) =>
  new Map(unassignedOnRestore(events, before).map((key) => [key, { was: before.get(key), is: null }]))

const runs = { numRuns: cases(10), withinMs: 30_000 }
const undoneTypes = new Set<string>()

async function checkUndo(done: Done, n: number, isRedone: boolean): Promise<void> {
  const undone = await undoneBy(done, n)
  if (!undone) return
  undoneTypes.add(done.type)
  expect(difference(done.before, undone.after)).toEqual(unassigned(done))
  if (!isRedone) return
  const redone = await undoneBy(undone, n)
  expect(difference(done.after, redone!.after)).toEqual(new Map())
}

test('undoing any change restores the state before the change, and undoing the undo restores the state after the change', async () => {
  const property = fc.asyncProperty(
    requestWaves(4),
    fc.array(step, { minLength: 5, maxLength: 12 }),
    async (waves, steps) => {
      const { run } = await begin(waves)
      for (const one of steps) {
        const done = await doneBy(() => run({ ...one, who: 0, process: 0 }))
        if (!done) continue
        await checkUndo(done, one.value, one.other % 2 === 0)
      }
    },
  )
  await assertInTime(property, { ...runs, isCovered: () => undoneTypes.size > 5 })
  expect(undoneTypes.size).toBeGreaterThan(5)
  expect(await faultsOf(sql)).toEqual([])
})

test('undoing any batch restores the state before the batch, and undoing the undo restores the state after the batch', async () => {
  let batches = 0
  const choices = fc.array(fc.nat({ max: 99 }), { minLength: 1, maxLength: 8 })
  const property = fc.asyncProperty(
    requestWaves(4),
    fc.array(choices, { minLength: 3, maxLength: 6 }),
    async (waves, all) => {
      const { world } = await begin(waves)
      for (const some of all) {
        const operations = batchOf(world, ada.id, some)
        const path = `/projects/${world.projects[0]!.id}/batch`
        const done = await doneBy(() => ada.post(path, { operations }))
        if (!done) continue
        batches++
        await checkUndo(done, some[0]!, true)
      }
    },
  )
  await assertInTime(property, {
    ...runs,
    examples: [[assigneeHasLeft, [[6]]]],
    isCovered: () => batches > 5,
  })
  expect(batches).toBeGreaterThan(5)
  expect(await faultsOf(sql)).toEqual([])
})

const reasons =
  /no longer a member of the project|cannot be undone: (task|comment|subtask|member|label|claim|field|view) changed since|already has a (label named|field with)|must not form a cycle|Project not found/

test('an undo keeps later changes of other fields, and is rejected if the same fields were changed later', async () => {
  let [accepted, rejected] = [0, 0]
  const some = fc.array(step, { minLength: 1, maxLength: 5 })
  const property = fc.asyncProperty(
    requestWaves(4),
    fc.array(fc.tuple(step, some), { minLength: 4, maxLength: 8 }),
    async (waves, all) => {
      const { run } = await begin(waves)
      for (const [one, others] of all) {
        const done = await doneBy(() => run({ ...one, who: 0, process: 0 }))
        if (!done) continue
        for (const other of others) await run({ ...other, process: 0 })
        const between = await stateNow()
        const answer = await undo(done, one.value)
        const did = difference(done.before, done.after)
        if (answer.status === 200) {
          const back = reversed(did)
          for (const key of unassignedOnRestore(done.events, done.before, between)) back.get(key)!.is = null
          const now = difference(between, await stateNow())
          for (const key of takenPositions(back, between)) for (const all of [now, back]) all.delete(key)
          expect(now).toEqual(back)
          accepted++
          continue
        }
        rejected++
        expect(difference(between, await stateNow())).toEqual(new Map())
        const touched = [...did.keys(), ...done.events.flatMap(fieldsOf)]
        const isChangedLater = touched.some((key) => between.get(key) !== done.after.get(key))
        const { message } = answer.body as Body
        expect([answer.status, message, isChangedLater || reasons.test(message)]).toEqual([
          answer.status,
          message,
          true,
        ])
      }
    },
  )
  await assertInTime(property, { ...runs, isCovered: () => Math.min(accepted, rejected) > 0 })
  expect(Math.min(accepted, rejected)).toBeGreaterThan(0)
})
