import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { notAssignable } from '../../modules/undo/strangers.ts'
import { type Body, type Person, register } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { expectUndone as doneOf } from '../http/undo-scene.ts'
import { forFile, openTestService } from '../support/service.ts'
import { readEvents, readStreams } from './history.ts'
import { assertInTime } from './in-time.ts'
import { batchOf } from './random-batch.ts'
import { beginLife, hadBySomebodyWhoLeft, lives, step } from './random-life.ts'
import { difference, fieldsOf, hadLeft, nobodysAgain, reversed, stateOf, forgetAll } from './states.ts'
import { cases } from '../support/depth.ts'

const service = await forFile(openTestService())
const people: Person[] = await Promise.all(
  ['Ada', 'Bea', 'Cyd', 'Dan'].map((name) => register(service.client, name)),
)
const sql = () => service.services.database.reads
const ada = () => people[0]!

async function begin() {
  await forgetAll(sql())
  return beginLife([people, people])
}

const stateNow = () => stateOf(sql())

/** What one step did in one project, unless that cannot be undone, and what is different for it. */
async function doneBy(run: () => Promise<unknown>) {
  const before = await stateNow()
  const were = new Map((await readStreams(sql())).map(({ projectId, version }) => [projectId, version]))
  await run()
  const events = (await readEvents(sql())).filter(({ projectId, seq }) => seq > (were.get(projectId) ?? 0))
  const [first] = events
  const isPossible =
    first && events.every(({ type }) => !/^project\.(created|deleted)|task\.moved/.test(type))
  const batch = first?.batch == null ? null : Number(first.batch)
  return isPossible ? { ...first, batch, events, before, after: await stateNow() } : undefined
}
type Done = NonNullable<Awaited<ReturnType<typeof doneBy>>>

const undo = async ({ projectId, seq, batch, events }: Omit<Done, 'before' | 'after'>, n = 0) => {
  const seqs = events.map((event) => event.seq)
  const asked = batch !== null && n % 2 ? { batch } : seqs.length > 1 ? { seqs } : { seq }
  return ada().post(`/projects/${projectId}/undo`, asked)
}

/** What undoing did; nothing where a task would go back to somebody who had left before the change. */
async function undoneBy(done: Done, n = 0) {
  let wasRefused = false
  const undone = await doneBy(async () => {
    const answer = await undo(done, n)
    wasRefused = answer.status === 409 && hadLeft(done.events, done.before)
    if (wasRefused) expect((answer.body as Body).message).toBe(notAssignable().message)
    else doneOf(answer)
  })
  if (wasRefused) return undefined
  expect(undone).toBeDefined()
  return undone
}

const lost = ({ events, before }: Done) =>
  new Map(nobodysAgain(events, before).map((key) => [key, { was: before.get(key), is: null }]))

const runs = { numRuns: cases(15), withinMs: 30_000 }
const seen = new Map<string, number>()
const note = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)

test('any change and its undo give the state before, and to undo that the state after', async () => {
  const property = fc.asyncProperty(
    lives(4),
    fc.array(step, { minLength: 5, maxLength: 12 }),
    async (waves, steps) => {
      const { run } = await begin()
      for (const wave of waves) await Promise.all(wave.map(run))
      for (const one of steps) {
        const done = await doneBy(() => run({ ...one, who: 0, process: 0 }))
        if (!done) continue
        const undone = await undoneBy(done, one.value)
        if (!undone) continue
        note(done.type)
        expect(difference(done.before, undone.after)).toEqual(lost(done))
        if (one.other % 2) continue
        const redone = await undoneBy(undone, one.value)
        expect(difference(done.after, redone!.after)).toEqual(new Map())
      }
    },
  )
  await assertInTime(property, runs)
  expect(seen.size).toBeGreaterThan(5)
  expect(await faultsOf(sql())).toEqual([])
})

test('any batch and its undo give the state before, and to undo that the state after', async () => {
  let batches = 0
  const choices = fc.array(fc.nat({ max: 99 }), { minLength: 1, maxLength: 8 })
  const property = fc.asyncProperty(
    lives(4),
    fc.array(choices, { minLength: 3, maxLength: 6 }),
    async (waves, all) => {
      const { run, world } = await begin()
      for (const wave of waves) await Promise.all(wave.map(run))
      for (const some of all) {
        const operations = batchOf(world, ada().id, some)
        const path = `/projects/${world.projects[0]!.id}/batch`
        const done = await doneBy(() => ada().post(path, { operations }))
        if (!done) continue
        batches++
        const undone = await undoneBy(done, some[0])
        if (!undone) continue
        expect(difference(done.before, undone.after)).toEqual(lost(done))
        const redone = await undoneBy(undone, some[0])
        expect(difference(done.after, redone!.after)).toEqual(new Map())
      }
    },
  )
  await assertInTime(property, { ...runs, examples: [[hadBySomebodyWhoLeft, [[6]]]] })
  expect(batches).toBeGreaterThan(5)
  expect(await faultsOf(sql())).toEqual([])
})

/** Why an undo may be refused, beside what changed since. */
const reasons =
  /not in the project any more|cannot be undone: (task|comment|subtask|member) changed since|Project not found/

test('an undo after other changes takes back its own and keeps those, or is refused where they overlap', async () => {
  let [kept, refused] = [0, 0]
  const some = fc.array(step, { minLength: 1, maxLength: 5 })
  const property = fc.asyncProperty(
    lives(4),
    fc.array(fc.tuple(step, some), { minLength: 4, maxLength: 8 }),
    async (waves, all) => {
      const { run } = await begin()
      for (const wave of waves) await Promise.all(wave.map(run))
      for (const [one, others] of all) {
        const done = await doneBy(() => run({ ...one, who: 0, process: 0 }))
        if (!done) continue
        for (const other of others) await run({ ...other, process: 0 })
        const between = await stateNow()
        const answer = await undo(done, one.value)
        const did = difference(done.before, done.after)
        if (answer.status === 200) {
          const back = reversed(did)
          for (const key of nobodysAgain(done.events, done.before, between)) back.get(key)!.is = null
          expect(difference(between, await stateNow())).toEqual(back)
          kept++
          continue
        }
        refused++
        expect(difference(between, await stateNow())).toEqual(new Map())
        const touched = [...did.keys(), ...done.events.flatMap(fieldsOf)]
        const isOvertaken = touched.some((key) => between.get(key) !== done.after.get(key))
        const { message } = answer.body as Body
        expect([answer.status, message, isOvertaken || reasons.test(message)]).toEqual([
          answer.status,
          message,
          true,
        ])
      }
    },
  )
  await assertInTime(property, runs)
  expect(Math.min(kept, refused)).toBeGreaterThan(0)
})
