import { spyOn } from 'bun:test'
import { DelayedError, type Job, Worker } from 'bullmq'
import { disconnect, eventually, forFile, holdTransaction, make, newId, openForEach } from '../kit.ts'
import { expireKeys, openLog, openRedis, openScene, openTestService, orphanSearches } from '../kit.ts'
import { queueOrphanJobs, readConfig, register, sharedRedisPrefix } from '../kit.ts'
import { type Person, rowsOf, SliceEnded, type Sql, type TestService, upTo } from '../kit.ts'
import { notFound } from '../../src/responses/errors.ts'
import { reasonOf, type Throttle } from '../../workers/throttle.ts'
import { openRecurring, openWorkers, recurringQueue, runJob, runStep } from '../../workers/run-jobs.ts'
import type { Steps } from '../../workers/run-jobs.ts'
import { createFullProject, outboxSize, rowsWith } from '../workers/remains.ts'
import { queuePrefix } from '../../src/jobs/queue.ts'
import { openBlocking, type RedisClient } from '../../src/redis/connections.ts'
import { openSilentLine } from '../races/silent-line.ts'

const slowSql = () => slowService.services.database.reads
// With these settings, purging a large project takes 30 seconds, and only one job runs at a time.
const slow = { JOB_CONCURRENCY: '1', JOB_BATCH_ROWS: '1', JOB_PAUSE_MS: '300' }
const { service: slowService, ada: slowAda } = await openScene(['Ada'], slow)

const log = openLog('silent')
const beginSlice = (): Throttle => ({ batchRows: 1, pauseMs: 0 })

test('a job may pause more often than it may fail', async () => {
  const id = newId()
  await slowSql()`insert into outbox (id, name, data, created_at) values (${id}, 'long', '{}', now())`
  let slices = 0
  const errors: unknown[] = []
  const long = async () => {
    const [row] = await slowSql()`select error from outbox where id = ${id}`
    errors.push(row!.error)
    if (++slices < 5) throw new SliceEnded(0, slices === 2 ? 'Postgres is slow' : undefined)
  }
  const by = { sql: slowSql(), log, handlers: { long }, beginSlice, attempts: 2 }
  const job = { moveToDelayed: async () => {} } as unknown as Job
  for (const _ of upTo(4))
    expect(await runJob(by, job, id).catch((error) => error)).toBeInstanceOf(DelayedError)
  await runJob(by, job, id)
  expect([slices, await outboxSize(slowSql())]).toEqual([5, 0])
  // The reason of the latest pause.
  expect(errors).toEqual([null, null, 'Postgres is slow', null, null])
})

test('a small purge does not wait for large purges', async () => {
  const large = await Promise.all([createFullProject(slowAda, 25), createFullProject(slowAda, 25)])
  const small = await createFullProject(slowAda, 0)
  slowService.startWorkers()
  for (const { id } of large) await slowAda.delete(`/projects/${id}`)
  const hasBegun = async () => (await rowsWith(slowSql(), large[0]!.ids)).comments! < 50
  await eventually('the first deletions', hasBegun)
  await slowAda.delete(`/projects/${small.id}`)
  await eventually('the end of the small purge', async () => (await outboxSize(slowSql())) === 2)
  expect(await rowsWith(slowSql(), small.ids)).toEqual({})
  for (const { ids } of large) expect((await rowsWith(slowSql(), ids)).tasks).toBeGreaterThan(20)
})

test('the reason of a dead letter is one line, without values of rows, and not too long', () => {
  const errors = [new Error('It is\n  broken\0'), notFound('Project'), 'a word', undefined, new TypeError()]
  const reasons = ['It is broken', 'Project not found', 'a word', 'undefined', 'TypeError']
  expect(errors.map(reasonOf)).toEqual(reasons)
  const detail = 'Key (email)=(ada@example.com) already exists.'
  const rejected = Object.assign(new Error('invalid input: "a "secret"\nword"'), { code: '22P02', detail })
  expect(reasonOf(rejected)).toBe('22P02: invalid input: "…"')
  const long = reasonOf(new Error(`x${'🙂'.repeat(1_000)}`))
  expect([long.length <= 500, long.isWellFormed()]).toEqual([true, true])
})

const forEach = openForEach()
let service: TestService
let ada: Person
const sql = () => service.services.database.reads
const open = async (overrides: Record<string, string> = {}) => {
  service = await forEach(openTestService(overrides))
  ada = await register(service.client)
}

const leaveKey = () => sql()`
  insert into idempotency_keys (scope, key, fingerprint, status, body, created_at)
  values ('here', ${newId()}, 'same', 201, '{}', now() - interval '1 year')`
const leaveStream = () => sql()`
  insert into streams (project_id, version, last_number) values (${newId()}, 1, 0)`
const isEmpty = async (table: string) => (await sql()`select from ${sql()(table)}`).length === 0
const isCleared = (table: string) => eventually(`nothing left in ${table}`, () => isEmpty(table))

test('recurring steps run while the queue is full of slow jobs', async () => {
  await open({ ...slow, JOB_SLICE_MS: '600000', JOB_PAUSE_MS: '2000' })
  const { id } = await make(ada, '/projects', { name: 'Slow' })
  for (const n of upTo(20)) await make(ada, '/tasks', { projectId: id, title: `Task ${n}` })
  await ada.delete(`/projects/${id}`)
  await leaveKey()
  service.startWorkers()
  await isCleared('idempotency_keys')
  expect(await isEmpty('tasks')).toBe(false)
})

/** The table, an age that is too old and one that is not, and the columns and values of a row. */
const aged = rowsOf(`
  idempotency_keys | 24 h 1 min | 23 h 59 min | scope, key, fingerprint, status, body, created_at | 'x', id, '', 200, '', at
  revoked_tokens | 1 min | -1 min | jti, expires_at | id, at
  mail_tokens | 1 min | -1 min | id, user_id, purpose, email, version, expires_at | id, id, 'reset', '', 0, at
  search_documents | 61 min | 59 min | id, project_id, kind, at, event_id | id, id, 'task', at, id
  api_tokens | 1 min | -1 min | id, user_id, version, slot, digest, name, scopes, expires_at, created_at | id, id, 0, n, id, '', '', at, at`)

test('each cleanup deletes what is older than its limit, and nothing younger', async () => {
  await open({ IDEMPOTENCY_HOURS: '24', SWEEP_EVERY_MS: '50' })
  for (const [table, old, young, columns, values] of aged)
    for (const [n, age] of [old, young].entries())
      await sql().unsafe(`insert into ${table} (${columns}) select ${values}
        from (select gen_random_uuid() as id, now() - interval '${age}' as at, ${n}::int4 as n)`)
  const counts = async () => {
    const lists = aged.map(([table]) => sql()`select from ${sql()(table)}`)
    return (await Promise.all(lists)).map(({ length }) => length)
  }
  service.startWorkers()
  await eventually('one row of each table', async () => (await counts()).every((rows) => rows <= 1))
  expect(await counts()).toEqual(aged.map(() => 1))
})

test('a step that fails, or that waits for a lock, delays no other step', async () => {
  await open()
  await Promise.all([leaveKey(), leaveStream()])
  await sql()`insert into revoked_tokens (jti, expires_at) values (${newId()}, now() - interval '1 day')`
  await sql()`create function refuse() returns trigger language plpgsql as 'begin raise exception ''no''; end'`
  await sql()`create trigger refuse before delete on idempotency_keys for each row execute function refuse()`
  const release = await holdTransaction(
    service.services.database.commits,
    (tx) => tx`lock table streams in access exclusive mode`,
  )
  service.startWorkers()
  await isCleared('revoked_tokens')
  await release()
  expect(await isEmpty('idempotency_keys')).toBe(false)
})

const pages: Throttle = { batchRows: 10, pauseMs: 0 }

test('the search for orphans queues one job for each orphan', async () => {
  await open()
  const { id: existing } = await make(ada, '/projects', { name: 'Kept' })
  for (const _ of upTo(4)) await leaveStream()
  const keys = (await sql()`select project_id as id from streams order by 1`).map(({ id }) => id as string)
  for (const _ of upTo(2)) await queueOrphanJobs(sql(), orphanSearches.streams, pages)
  const jobs = await sql()`select name, project_id, data from outbox order by project_id`
  const orphans = keys.filter((id) => id !== existing)
  const jobOf = (projectId: string) => ({ name: 'purge-project', projectId, data: { projectId } })
  expect([...jobs]).toMatchObject(orphans.map(jobOf))
})

test('a step runs again some minutes after its end, also if Redis has lost the step', async () => {
  await open()
  const { jobs, config } = service.services
  let runs = 0
  const steps: Steps = { look: async () => void runs++ }
  const recurring = openRecurring(jobs, steps)
  const queue = jobs.open(recurringQueue)
  const options = { connection: openBlocking(config.redisUrl, log), prefix: queuePrefix(config) }
  const run = (job: Job, token?: string) => runStep(steps, pages, log, job, token)
  const worker = new Worker(recurringQueue, run, options)
  const rests = (times: number) =>
    eventually('a delay', async () => runs === times && (await queue.getDelayedCount()) === 1)
  // The first attempts may fail, before the connection of jobs is ready.
  await eventually('the first restore', () =>
    recurring.restore().then(
      () => true,
      () => false,
    ),
  )
  await rests(1)
  await recurring.restore()
  const job = (await queue.getJob('look'))!
  expect(job.delay).toBeGreaterThan(60_000)
  await job.promote()
  await rests(2)
  await queue.obliterate({ force: true })
  await recurring.restore()
  await rests(3)
  await Promise.all([worker.close(), recurring.close(), queue.close()])
  options.connection.disconnect()
})

test('a step rests longer after a long run, at most an hour, and not if its worker stops', async () => {
  const restAfter = async (ranMs: number, isOver = false) => {
    const clock = spyOn(performance, 'now').mockReturnValueOnce(0).mockReturnValueOnce(ranMs)
    let until = 0
    const job = { name: 'look', moveToDelayed: async (at: number) => void (until = at) } as unknown as Job
    const run = runStep({ look: async () => {} }, { ...pages, isOver: () => isOver }, log, job)
    await expect(run.finally(() => clock.mockRestore())).rejects.toBeInstanceOf(DelayedError)
    return Math.round((until - Date.now()) / 60_000)
  }
  expect([await restAfter(1_000), await restAfter(60_000), await restAfter(7_200_000)]).toEqual([5, 20, 60])
  expect(await restAfter(7_200_000, true)).toBe(0)
})

test('runs that end early delete expired keys in all parts of the table', async () => {
  await open()
  await sql()`insert into idempotency_keys (scope, key, fingerprint, status, body, created_at)
    select 'here', n, 'same', 201, repeat('x', 1500), now() - interval '1 year' from generate_series(1, 1000) n`
  const lastPage = sql()`select from idempotency_keys where ctid > '(128,0)'`
  const { length } = await lastPage
  const interrupted = () => expireKeys(sql(), 24, { ...pages, isOver: () => true }).catch(() => {})
  await eventually('a deletion in the last part', async () => {
    await interrupted()
    return (await sql()`select from idempotency_keys where ctid > '(128,0)'`).length < length
  })
})

test('the search for orphans reads large tables by index only', async () => {
  await open({ BACKGROUND_TIMEOUT_MS: '60000' })
  const { background } = service.services.database
  await background`with p as (insert into projects (id, owner_id, name, created_at, event_id)
      select gen_random_uuid(), gen_random_uuid(), 'P', now(), gen_random_uuid() from generate_series(1, 20000)
      returning id, owner_id),
    s as (insert into streams (project_id, version, last_number) select id, 1, 0 from p),
    c as (insert into search_cursors (project_id, seq, event_id) select id, 1, gen_random_uuid() from p),
    u as (insert into users (id, name, email, password_hash, created_at)
      select owner_id, 'U', owner_id::text, '', now() from p)
    insert into members (id, project_id, user_id, role, created_at, event_id)
      select gen_random_uuid(), id, owner_id, 'VIEWER', now(), gen_random_uuid() from p`
  await background`analyze users, projects, streams, search_cursors, members`
  for (const search of Object.values(orphanSearches))
    await background.begin(async (tx) => {
      await queueOrphanJobs(tx as unknown as Sql, search, pages)
      const [scanned] = await tx`select sum(seq_tup_read)::int4 as rows from pg_stat_xact_user_tables`
      expect(scanned).toEqual({ rows: 0 })
    })
})

const { url, prefix } = sharedRedisPrefix()
const line = await forFile(openSilentLine(url))
const isAnswered = (redis: RedisClient) => async () => (await redis.ping().catch(() => '')) === 'PONG'

test('a command without a reply fails, and the connection of a worker is replaced', async () => {
  const worker = openBlocking(line.url, log, 200)
  const ofService = openRedis(readConfig({ REDIS_URL: line.url, REDIS_TIMEOUT_MS: '100' }), log)
  for (const redis of [worker, ofService]) {
    await forFile({ close: async () => disconnect(redis) })
    await eventually('the first reply', isAnswered(redis))
  }
  line.silenceOpen()
  await expect(worker.ping()).rejects.toThrow()
  await expect(ofService.ping()).rejects.toThrow('Command timed out')
  await eventually('a reply', isAnswered(worker))
})

test('logs an error of a worker at most once a minute', async () => {
  const lines: Record<string, unknown>[] = []
  const infos = openLog('info', null, { write: (line) => void lines.push(JSON.parse(line)) })
  const connection = openBlocking(line.url, infos)
  const workers = openWorkers(connection, infos)
  // A value of another type, so that each search for a job fails.
  await connection.set(`${prefix}:work:wait`, 'x')
  const options = { prefix, concurrency: 1, runRetryDelay: 10, skipVersionCheck: true }
  workers.open('work', async () => {}, options)
  const errors = () => lines.filter(({ msg }) => msg === 'a worker of a queue has an error')
  await eventually('an error', async () => errors().length > 0)
  const reason = expect.stringContaining('WRONGTYPE')
  expect(errors()[0]).toMatchObject({ level: 40, queue: 'work', reason })
  line.cut()
  await eventually('a connection', async () => connection.status === 'ready')
  await connection.del(`${prefix}:work:wait`)
  await workers.close()
  disconnect(connection)
  expect(errors()).toHaveLength(1)
})
