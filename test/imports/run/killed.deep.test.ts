import { Redis } from 'ioredis'
import type { ImportRow } from '../../../modules/imports/schema.ts'
import { eventually, forFile, freshRedis, holdTransaction, make, openScene, readConfig } from '../../kit.ts'
import { register, spawnService, upTo } from '../../kit.ts'
import type { ServiceProcess } from '../../kit.ts'
import { importQueueName, queuePrefix } from '../../../src/jobs/queue.ts'

const redis = await forFile(freshRedis())
const env = { REDIS_URL: redis.url, JOB_SLICE_MS: '50', JOB_ATTEMPTS: '3' }
const { service, client, sql } = await openScene([], env)
const count = 1_500
// Enough for several batches.
const labels = 450

let worker: ServiceProcess
const start = async () => (worker = await forFile(spawnService('worker', service.env)))

const file = [
  'id,title,labels,blockedBy,subtasks,comments,parent',
  ...upTo(count).map((n) => {
    const comment = `"2024-01-02T03:04:05.000Z Ada\n  Comment ${n}"`
    const subtasks = `"[x] First of ${n}\n[ ] Second of ${n}"`
    return [n, `Task ${n}`, `label ${n % labels}`, n % 3 === 0 ? n - 1 : '', subtasks, comment, ''].join(',')
  }),
  ...upTo(count).map((n) => [`s${n}`, `Part of ${n}`, '', '', '', '', n].join(',')),
].join('\n')

const owner = await register(client)
const newProject = async () => (await make(owner, '/projects', { name: 'Engine' })).id
const rowOf = async (id: string) => (await sql<ImportRow[]>`select * from imports where id = ${id}`)[0]!

await sql`create function wait_in_step() returns trigger language plpgsql as
  'begin perform pg_advisory_xact_lock_shared(hashtext(old.cursor ->> ''step'')); return new; end'`
await sql`create trigger wait_in_step before update of cursor on imports for each row
  when ((old.cursor ->> 'n')::int8 > 0) execute function wait_in_step()`

/** Workers wait in the step, after its first batch, until the test calls the returned function. */
const lockStep = (step: string) =>
  holdTransaction(
    service.services.database.commits,
    (tx) => tx`select pg_advisory_xact_lock(hashtext(${step}))`,
  )

/** Waits until the worker waits in a locked step of the import. */
async function untilIn(step: string, importId: string) {
  const isIn = ({ cursor }: ImportRow) => cursor?.step === step && cursor.n > 0
  await eventually(`the step ${step}`, async () => isIn(await rowOf(importId)))
}

async function restartWorker(between: () => Promise<unknown> = async () => {}) {
  await worker.stop('SIGKILL')
  await between()
  await start()
}

interface Interrupted {
  steps: string[]
  interrupt?: (importId: string) => Promise<unknown>
}

/** Imports the file, and interrupts the import after the first batch of each of the steps. */
async function importFile(
  projectId: string,
  { steps, interrupt = () => restartWorker() }: Interrupted,
): Promise<ImportRow> {
  let release = await lockStep(steps[0]!)
  const { body } = await owner.call('POST', `/projects/${projectId}/imports?source=csv`, file)
  for (const [n, step] of steps.entries()) {
    await untilIn(step, body.id)
    await interrupt(body.id)
    expect(await rowOf(body.id)).toMatchObject({ state: 'running', cursor: { step } })
    const next = steps[n + 1]
    const releaseNext = next === undefined ? release : await lockStep(next)
    await release()
    release = releaseNext
  }
  await eventually('the end of the import', async () => (await rowOf(body.id)).state !== 'running')
  return rowOf(body.id)
}

async function rowsOf(projectId: string) {
  const [row] = await sql<object[]>`
    with t as materialized (select * from tasks where project_id = ${projectId})
    select count(*)::int4 as tasks, count(t.blocked_by_ids)::int4 as links, count(distinct t.external_id)::int4 as ids,
      (select count(*)::int4 from subtasks s join t on t.id = s.task_id) as subtasks,
      (select count(*)::int4 from comments c join t on t.id = c.task_id) as comments,
      (select count(*)::int4 from labels where project_id = ${projectId}) as labels
    from t`
  return row
}
const all = { tasks: count, links: count / 3, ids: count, subtasks: 3 * count, comments: count, labels }
const counts = { read: count, updated: 0, rejected: 0 }

await start()

const steps = ['read', 'tasks', 'leaves', 'links']

/** Counts so many expired locks of the job that BullMQ fails it. */
async function failJob(importId: string) {
  const [job] = await sql<{ id: string }[]>`
    select o.id from outbox o join imports i on i.project_id = o.project_id where i.id = ${importId}`
  const connection = new Redis(redis.url)
  const key = `${queuePrefix(readConfig(service.env))}:${importQueueName}:${job!.id}`
  expect(await connection.hset(key, 'stc', '1000000')).toBe(1)
  connection.disconnect()
}

const losses: Record<string, Interrupted> = {
  'its worker is killed in several steps, more often than a job may fail': { steps },
  'BullMQ has failed its job': { steps: ['tasks'], interrupt: (id) => restartWorker(() => failJob(id)) },
  'Redis has lost all data, while its worker runs': {
    ...{ steps: ['tasks'], interrupt: () => redis.restart('delete') },
  },
  'its worker was killed and Redis has lost all data': {
    ...{ steps: ['tasks'], interrupt: () => restartWorker(() => redis.restart('delete')) },
  },
}
test.each(Object.entries(losses))('an import doubles and loses nothing, if %s', async (_, interrupted) => {
  const row = await importFile(await newProject(), interrupted)
  expect(row).toMatchObject({ state: 'done', error: null, ...counts, created: count, unchanged: 0 })
  expect(await rowsOf(row.projectId)).toEqual(all)
})

test('an import without changes and an undo also continue after kills', async () => {
  const projectId = await newProject()
  const { id } = await importFile(projectId, { steps: ['children'] })
  const again = await importFile(projectId, { steps: ['tasks'] })
  expect(again).toMatchObject({ state: 'done', ...counts, created: 0, unchanged: count })
  expect(await rowsOf(projectId)).toEqual(all)
  const release = await lockStep('undo')
  const undone = owner.post(`/imports/${id}/undo`)
  await untilIn('undo', id)
  await restartWorker()
  expect(await rowOf(id)).toMatchObject({ undoState: 'running' })
  await release()
  await eventually('the end of the undo', async () => (await rowOf(id)).undoState !== 'running')
  await undone
  expect(await rowOf(id)).toMatchObject({ undoState: 'done', error: null, undone: count, kept: 0 })
  expect(await rowsOf(projectId)).toMatchObject({ tasks: 0, labels: 0 })
})
