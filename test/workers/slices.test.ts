import { DelayedError, type Job } from 'bullmq'
import { eventually, newId, openLog, openScene } from '../kit.ts'
import { notFound } from '../../src/responses/errors.ts'
import { reasonOf } from '../../workers/reason.ts'
import { type Throttle, SliceEnded } from '../../workers/throttle.ts'
import { type StepData, runStep } from '../../workers/recurring.ts'
import { claimJob, recordFailure, runJob } from '../../workers/run-job.ts'
import { createFullProject, outboxSize, rowsWith } from './remains.ts'

const sql = () => service.services.database.reads
// With these settings, purging a large project takes two minutes, and only one job runs at a time.
const slow = { JOB_CONCURRENCY: '1', JOB_BATCH_ROWS: '1', JOB_PAUSE_MS: '1000' }
const { service, ada } = await openScene(['Ada'], slow)

const log = openLog('silent')
const beginSlice = (): Throttle => ({ batchRows: 1, pauseMs: 0 })

test('a job may pause more often than it may fail', async () => {
  const id = newId()
  await sql()`insert into outbox (id, name, data, created_at) values (${id}, 'long', '{}', now())`
  let slices = 0
  const errors: (string | null)[] = []
  const long = async () => {
    errors.push(
      (await sql()<{ error: string | null }[]>`select error from outbox where id = ${id}`)[0]!.error,
    )
    if (++slices < 5) throw new SliceEnded(0, slices === 2 ? 'Postgres is slow' : undefined)
  }
  const by = { sql: sql(), log, handlers: { long }, beginSlice, attempts: 2 }
  const job = { moveToDelayed: async () => {} } as unknown as Job
  for (let slice = 1; slice < 5; slice++)
    expect(await runJob(by, job, id).catch((error) => error)).toBeInstanceOf(DelayedError)
  await runJob(by, job, id)
  expect([slices, await outboxSize(sql())]).toEqual([5, 0])
  // The reason of the latest pause.
  expect(errors).toEqual([null, null, 'Postgres is slow', null, null])
})

test('a job becomes a dead letter as soon as its last attempt has failed', async () => {
  const id = newId()
  await sql()`insert into outbox (id, name, data, created_at) values (${id}, 'bad', '{}', now())`
  const tried = async () => [
    (await claimJob(sql(), id, 2))?.isParked,
    await recordFailure(sql(), id, 2, new Error('no')),
  ]
  expect(await tried()).toEqual([false, false])
  expect(await tried()).toEqual([false, true])
  await sql()`delete from outbox where id = ${id}`
})

test('an unfinished step runs again immediately, a finished step after a minute', async () => {
  const restOf = async (step: () => Promise<void>) => {
    let at = 0
    const moveToDelayed = async (time: number) => void (at = time)
    const fields = { name: 'step', data: {}, updateData: async () => {}, moveToDelayed }
    const job = fields as unknown as Job<StepData>
    expect(await runStep({ step }, beginSlice, log, job).catch((error) => error)).toBeInstanceOf(DelayedError)
    return at
  }
  const isOver = () => Promise.reject(new SliceEnded())
  expect(await restOf(isOver)).toBeLessThanOrEqual(Date.now())
  const began = Date.now()
  expect(await restOf(async () => {})).toBeGreaterThanOrEqual(began + 60_000)
})

test('a small purge does not wait for large purges', async () => {
  const large = await Promise.all([createFullProject(ada, 40), createFullProject(ada, 40)])
  const small = await createFullProject(ada, 0)
  service.startWorkers()
  for (const { id } of large) await ada.delete(`/projects/${id}`)
  await eventually('the first deletions', async () => (await rowsWith(sql(), large[0]!.ids)).comments! < 80)
  await ada.delete(`/projects/${small.id}`)
  await eventually('the end of the small purge', async () => (await outboxSize(sql())) === 2)
  expect(await rowsWith(sql(), small.ids)).toEqual({})
  for (const { ids } of large) expect((await rowsWith(sql(), ids)).tasks).toBeGreaterThan(30)
})

const refused = (code: string, message: string) =>
  Object.assign(new Error(message), { code, detail: 'Key (email)=(ada@example.com) already exists.' })

test.each<[string, unknown]>([
  ['It is broken', new Error('It is\n  broken\0')],
  ['Project not found', notFound('Project')],
  ['a word', 'a word'],
  ['null', null],
  ['undefined', undefined],
  ['TypeError', new TypeError()],
  ['42P01: relation "tasks" does not exist', refused('42P01', 'relation "tasks" does not exist')],
  ['22P02: invalid input: "…"', refused('22P02', 'invalid input: "a "secret"\nword"')],
])('the reason of a dead letter is one line: %s', (reason, error) => expect(reasonOf(error)).toBe(reason))

test('cuts a long reason without splitting a character', () => {
  const reason = reasonOf(new Error(`x${'🙂'.repeat(1_000)}`))
  expect(reason.length).toBeLessThanOrEqual(500)
  expect(reason.isWellFormed()).toBe(true)
})
