import { Redis } from 'ioredis'
import { expect, test } from 'bun:test'
import type { ImportRow } from '../../../modules/imports/rows.ts'
import { importQueueName, queuePrefix } from '../../../src/jobs/queue.ts'
import { readConfig } from '../../../src/config.ts'
import { make, register } from '../../support/client.ts'
import { freshRedis } from '../../support/redis.ts'
import { openScene } from '../../support/scene.ts'
import { forFile, type ServiceProcess, spawnService } from '../../support/service.ts'
import { eventually, upTo } from '../../races/pair.ts'

const redis = await forFile(freshRedis())
// With these pauses, an import takes some seconds.
const pauses = { JOB_PAUSE_MS: '150', JOB_SLICE_MS: '300', JOB_ATTEMPTS: '3' }
const { service, client, sql } = await openScene([], { REDIS_URL: redis.url, ...pauses })
/** For the workers of the import that is interrupted several times. */
const slow = { JOB_PAUSE_MS: '600' }
const count = 1_200

let worker: ServiceProcess
const start = async (own = {}) => (worker = await forFile(spawnService('worker', { ...service.env, ...own })))
await start(slow)

const file = `title,comments\n${upTo(count)
  .map((n) => `Task ${n},"2024-01-02T03:04:05.000Z Ada\n  Comment ${n}"`)
  .join('\n')}`

interface Progress extends ImportRow {
  /** The failed attempts of the job. */
  attempts: number
  jobId: string
}

const rowOf = async (id: string) => {
  const [row] = await sql<Progress[]>`
    select i.*, o.attempts, o.id as job_id from imports i left join outbox o on o.project_id = i.project_id where i.id = ${id}`
  return row!
}

/** Starts an import. Returns its id, and a function that waits until the import has continued since the last call. */
async function startImport() {
  const owner = await register(client)
  const { id: projectId } = await make(owner, '/projects', { name: 'P' })
  const { body } = await owner.call('POST', `/projects/${projectId}/imports?source=csv`, file)
  let last = ''
  const untilContinued = async () => {
    await eventually('the next batch', async () => {
      const { cursor, attempts, state } = await rowOf(body.id)
      if (state === 'done') throw new Error('The import ended too early')
      // The end of a slice resets the attempts of the job.
      return cursor !== null && cursor.n > 0 && JSON.stringify(cursor) !== last && attempts <= 1
    })
    last = JSON.stringify((await rowOf(body.id)).cursor)
  }
  return { id: body.id, untilContinued }
}

async function expectDone(id: string) {
  await eventually('the end of the import', async () => (await rowOf(id)).state !== 'running')
  const counts = { read: count, created: count, updated: 0, unchanged: 0, rejected: 0 }
  const row = await rowOf(id)
  expect(row).toMatchObject({ state: 'done', error: null, ...counts })
  const [rows] = await sql<object[]>`
    select count(distinct t.id)::int4 as tasks, count(c.id)::int4 as comments from tasks t
    left join comments c on c.task_id = t.id where t.project_id = ${row.projectId}`
  expect(rows).toEqual({ tasks: count, comments: count })
}

test('an import whose worker is killed more often than a job may fail ends as done', async () => {
  const { id, untilContinued } = await startImport()
  for (let kills = 1; kills <= 5; kills++) {
    await untilContinued()
    await worker.stop('SIGKILL')
    await start(kills < 5 ? slow : {})
  }
  await expectDone(id)
})

test('an import whose job BullMQ has failed ends as done', async () => {
  const { id, untilContinued } = await startImport()
  await untilContinued()
  await worker.stop('SIGKILL')
  const connection = new Redis(redis.url)
  const key = `${queuePrefix(readConfig(service.env))}:${importQueueName}:${(await rowOf(id)).jobId}`
  // BullMQ counts how often the lock of a job has expired.
  expect(await connection.hset(key, 'stc', '1000000')).toBe(1)
  connection.disconnect()
  await start()
  await expectDone(id)
})

test('an import continues after Redis has lost all data, while its worker runs', async () => {
  const { id, untilContinued } = await startImport()
  await untilContinued()
  await redis.restart('delete')
  await expectDone(id)
})

test('an import continues after its worker was killed and Redis has lost all data', async () => {
  const { id, untilContinued } = await startImport()
  await untilContinued()
  await worker.stop('SIGKILL')
  await redis.restart('delete')
  await start()
  await expectDone(id)
})
