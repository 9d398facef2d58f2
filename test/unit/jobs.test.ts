import { DelayedError, type Job, Worker } from 'bullmq'
import { disconnect, eventually, forFile, holdTransaction, newId, nilId, openForEach } from '../kit.ts'
import { openLog, openRedis, openScene, openTestService, orphanMembers, orphanProjects } from '../kit.ts'
import { orphanStreams, queueOrphanJobs, readConfig, register, sharedRedisPrefix } from '../kit.ts'
import { SliceEnded } from '../kit.ts'
import type { Person, Sql, TestService } from '../kit.ts'
import { notFound } from '../../src/responses/errors.ts'
import { reasonOf } from '../../workers/reason.ts'
import type { Throttle } from '../../workers/throttle.ts'
import { openRecurring, recurringQueue, runStep, type StepData, type Steps } from '../../workers/recurring.ts'
import { openWorkers, runJob } from '../../workers/run-job.ts'
import { createFullProject, outboxSize, rowsWith } from '../workers/remains.ts'
import { queuePrefix } from '../../src/jobs/queue.ts'
import { openBlocking, type RedisClient } from '../../src/redis/connections.ts'
import { openSilentLine } from '../races/silent-line.ts'

const slowSql = () => slowService.services.database.reads
// With these settings, purging a large project takes two minutes, and only one job runs at a time.
const slow = { JOB_CONCURRENCY: '1', JOB_BATCH_ROWS: '1', JOB_PAUSE_MS: '1000' }
const { service: slowService, ada: slowAda } = await openScene(['Ada'], slow)

const log = openLog('silent')
const beginSlice = (): Throttle => ({ batchRows: 1, pauseMs: 0 })

test('a job may pause more often than it may fail', async () => {
  const id = newId()
  await slowSql()`insert into outbox (id, name, data, created_at) values (${id}, 'long', '{}', now())`
  let slices = 0
  const errors: (string | null)[] = []
  const long = async () => {
    errors.push(
      (await slowSql()<{ error: string | null }[]>`select error from outbox where id = ${id}`)[0]!.error,
    )
    if (++slices < 5) throw new SliceEnded(0, slices === 2 ? 'Postgres is slow' : undefined)
  }
  const by = { sql: slowSql(), log, handlers: { long }, beginSlice, attempts: 2 }
  const job = { moveToDelayed: async () => {} } as unknown as Job
  for (let slice = 1; slice < 5; slice++)
    expect(await runJob(by, job, id).catch((error) => error)).toBeInstanceOf(DelayedError)
  await runJob(by, job, id)
  expect([slices, await outboxSize(slowSql())]).toEqual([5, 0])
  // The reason of the latest pause.
  expect(errors).toEqual([null, null, 'Postgres is slow', null, null])
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
  const large = await Promise.all([createFullProject(slowAda, 40), createFullProject(slowAda, 40)])
  const small = await createFullProject(slowAda, 0)
  slowService.startWorkers()
  for (const { id } of large) await slowAda.delete(`/projects/${id}`)
  await eventually(
    'the first deletions',
    async () => (await rowsWith(slowSql(), large[0]!.ids)).comments! < 80,
  )
  await slowAda.delete(`/projects/${small.id}`)
  await eventually('the end of the small purge', async () => (await outboxSize(slowSql())) === 2)
  expect(await rowsWith(slowSql(), small.ids)).toEqual({})
  for (const { ids } of large) expect((await rowsWith(slowSql(), ids)).tasks).toBeGreaterThan(30)
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
const leaveToken = () => sql()`
  insert into revoked_tokens (jti, expires_at) values (${newId()}, now() - interval '1 day')`
const leaveStream = () => sql()`
  insert into streams (project_id, version, last_number) values (${newId()}, 1, 0)`

const isEmpty = async (table: string) => (await sql()`select from ${sql()(table)}`).length === 0
const isCleared = (...tables: string[]) =>
  eventually(`nothing left in ${tables.join(' and ')}`, async () =>
    (await Promise.all(tables.map(isEmpty))).every(Boolean),
  )

test('recurring steps run while the queue is full of slow jobs', async () => {
  await open({ JOB_CONCURRENCY: '1', JOB_SLICE_MS: '600000', JOB_BATCH_ROWS: '1', JOB_PAUSE_MS: '2000' })
  const { id: projectId } = (await ada.post('/projects', { name: 'Slow' })).body
  for (let n = 0; n < 20; n++) await ada.post('/tasks', { projectId, title: `Task ${n}` })
  await ada.delete(`/projects/${projectId}`)
  await leaveKey()
  service.startWorkers()
  await isCleared('idempotency_keys')
  expect(await isEmpty('tasks')).toBe(false)
})

test('each cleanup deletes what is older than its limit, and nothing younger', async () => {
  await open({ IDEMPOTENCY_HOURS: '24', SWEEP_EVERY_MS: '50' })
  const { id: projectId } = (await ada.post('/projects', { name: 'Kept' })).body
  const ago = (age: string) => sql()`now() - ${age}::interval`
  const inserts: Record<string, [old: string, young: string, (id: string, age: string) => Promise<unknown>]> =
    {
      idempotency_keys: [
        '24 hours 1 minute',
        '23 hours 59 minutes',
        (id, age) => sql()`insert into idempotency_keys (scope, key, fingerprint, status, body, created_at)
        values ('here', ${id}, '', 200, '{}', ${ago(age)})`,
      ],
      revoked_tokens: [
        '1 minute',
        '-1 minute',
        (id, age) => sql()`insert into revoked_tokens (jti, expires_at) values (${id}, ${ago(age)})`,
      ],
      api_tokens: [
        '1 minute',
        '-1 minute',
        (
          id,
          age,
        ) => sql()`insert into api_tokens (id, user_id, version, slot, digest, name, scopes, expires_at, created_at)
        values (${id}, ${ada.id}, 0, ${age.length}, ${id}, 'T', 'read', ${ago(age)}, now())`,
      ],
      mail_tokens: [
        '1 minute',
        '-1 minute',
        (id, age) => sql()`insert into mail_tokens (id, user_id, purpose, email, version, expires_at)
        values (${id}, ${ada.id}, 'reset', '', 0, ${ago(age)})`,
      ],
      search_documents: [
        '61 minutes',
        '59 minutes',
        (id, age) => sql()`insert into search_documents (id, project_id, kind, at, event_id)
        values (${id}, ${projectId}, 'task', ${ago(age)}, ${id})`,
      ],
    }
  for (const [old, young, insert] of Object.values(inserts))
    for (const age of [old, young]) await insert(newId(), age)
  const counts = () =>
    Promise.all(
      Object.keys(inserts).map(async (table) => {
        const isOwn = table === 'search_documents' ? sql()`doc is null` : sql()`true`
        return [table, (await sql()`select from ${sql()(table)} where ${isOwn}`).length]
      }),
    )
  service.startWorkers()
  const expected = Object.keys(inserts).map((table) => [table, 1])
  await eventually('one row of each table', async () =>
    (await counts()).every(([, rows]) => Number(rows) <= 1),
  )
  expect(await counts()).toEqual(expected)
})

test('a failing step does not stop other steps', async () => {
  await open()
  await Promise.all([leaveKey(), leaveToken(), leaveStream()])
  await sql()`create function refuse() returns trigger language plpgsql as 'begin raise exception ''no''; end'`
  await sql()`create trigger refuse before delete on idempotency_keys for each row execute function refuse()`
  service.startWorkers()
  await isCleared('revoked_tokens', 'streams')
  expect(await isEmpty('idempotency_keys')).toBe(false)
})

test('a step that waits for a lock does not delay other steps', async () => {
  await open()
  await Promise.all([leaveKey(), leaveToken(), leaveStream()])
  const release = await holdTransaction(
    service.services.database.commits,
    (tx) => tx`lock table streams in access exclusive mode`,
  )
  service.startWorkers()
  await isCleared('revoked_tokens', 'idempotency_keys')
  await release()
})

test('the search for orphans goes through the table by key, and queues one job for each orphan', async () => {
  await open()
  const { id: existing } = (await ada.post('/projects', { name: 'Kept' })).body
  for (let n = 0; n < 4; n++) await leaveStream()
  const streams = await sql()<{ id: string }[]>`select project_id as id from streams order by 1`
  const keys = streams.map(({ id }) => id)
  const look = (after: string) => queueOrphanJobs(sql(), orphanStreams, after, 2)
  const pages = [await look(nilId), await look(keys[1]!), await look(keys[3]!)]
  expect(pages.map(({ last }) => last)).toEqual([keys[1], keys[3], undefined])
  expect(pages.reduce((sum, { queued }) => sum + queued, 0)).toBe(4)
  expect((await look(nilId)).queued).toBe(0)
  const jobs = await sql()<{ name: string; id: string; inData: string }[]>`
    select name, project_id as id, data->>'projectId' as in_data from outbox order by project_id`
  expect(jobs as unknown[]).toEqual(
    keys.filter((id) => id !== existing).map((id) => ({ name: 'purge-project', id, inData: id })),
  )
})

test('a step continues at its stored position, or from the beginning if Redis has lost the position', async () => {
  await open()
  const { jobs, config, log } = service.services
  const positions: (string | undefined)[] = []
  const steps: Steps = { look: async (_, after) => `after ${positions.push(after)}` }
  const recurring = openRecurring(jobs, steps)
  const queue = jobs.open(recurringQueue)
  const beginSlice = () => ({ batchRows: 1, pauseMs: 0 })
  const options = { connection: openBlocking(config.redisUrl, log), prefix: queuePrefix(config) }
  const worker = new Worker<StepData>(
    recurringQueue,
    (job, token) => runStep(steps, beginSlice, log, job, token),
    options,
  )
  const rests = (times: number) =>
    eventually('a delay', async () => positions.length === times && (await queue.getDelayedCount()) === 1)
  // The first attempts may fail, before the connection of jobs is ready.
  const isRestored = () =>
    recurring.restore().then(
      () => true,
      () => false,
    )
  await eventually('the first restore', isRestored)
  await rests(1)
  await recurring.restore()
  await (await queue.getJob('look'))!.promote()
  await rests(2)
  await queue.obliterate({ force: true })
  await recurring.restore()
  await rests(3)
  expect(positions).toEqual([undefined, 'after 1', undefined])
  await Promise.all([worker.close(), recurring.close(), queue.close()])
  options.connection.disconnect()
})

test('the search for orphans reads large tables by index only', async () => {
  await open({ BACKGROUND_TIMEOUT_MS: '60000' })
  const { background } = service.services.database
  await background`with p as (insert into projects (id, owner_id, name, created_at, event_id)
      select gen_random_uuid(), gen_random_uuid(), 'P', now(), gen_random_uuid() from generate_series(1, 50000)
      returning id, owner_id),
    s as (insert into streams (project_id, version, last_number) select id, 1, 0 from p),
    u as (insert into users (id, name, email, password_hash, created_at)
      select owner_id, 'U', owner_id::text, '', now() from p)
    insert into members (id, project_id, user_id, role, created_at, event_id)
      select gen_random_uuid(), id, owner_id, 'VIEWER', now(), gen_random_uuid() from p`
  await background`analyze users, projects, streams, members`
  for (const search of [orphanStreams, orphanProjects, orphanMembers]) {
    await background.begin(async (tx) => {
      const { last } = await queueOrphanJobs(tx as unknown as Sql, search, nilId, 5_000)
      expect(last).toBeDefined()
      const [scanned] = await tx`select sum(seq_tup_read)::int4 as rows from pg_stat_xact_user_tables`
      expect(scanned).toEqual({ rows: 0 })
    })
  }
})

const { url, prefix } = sharedRedisPrefix()
const line = await forFile(openSilentLine(url))

function openLines() {
  const lines: Record<string, unknown>[] = []
  const log = openLog('info', null, { write: (line) => void lines.push(JSON.parse(line)) })
  return { lines, log }
}

const isAnswered = (redis: RedisClient) => async () => (await redis.ping().catch(() => '')) === 'PONG'

test('a connection of workers that gets no reply is replaced', async () => {
  const redis = openBlocking(line.url, openLog('silent'), 200)
  await forFile({ close: async () => disconnect(redis) })
  await eventually('the first reply', isAnswered(redis))
  line.silenceOpen()
  await expect(redis.ping()).rejects.toThrow()
  await eventually('a reply', isAnswered(redis))
})

test.each([
  ['100', 'Command timed out'],
  ['60000', 'pending'],
])('a command of the service fails after REDIS_TIMEOUT_MS: %s', async (REDIS_TIMEOUT_MS, outcome) => {
  const redis = openRedis(readConfig({ REDIS_URL: line.url, REDIS_TIMEOUT_MS }), openLog('silent'))
  await forFile({ close: async () => disconnect(redis) })
  await eventually('the first reply', isAnswered(redis))
  line.silenceOpen()
  const failed = redis.ping().catch(({ message }: Error) => message)
  expect(await Promise.race([failed, Bun.sleep(1_500).then(() => 'pending')])).toBe(outcome)
})

test('logs each error of a worker once, but no error of its connection', async () => {
  const { lines, log } = openLines()
  const connection = openBlocking(line.url, log)
  const workers = openWorkers(connection, log)
  // A value of another type, so that each search for a job fails.
  await connection.set(`${prefix}:work:wait`, 'x')
  const options = { prefix, concurrency: 1, runRetryDelay: 10, skipVersionCheck: true }
  workers.open('work', async () => {}, options)
  const errors = () => lines.filter(({ msg }) => msg === 'a worker of a queue has an error')
  await eventually('an error', async () => errors().length > 0)
  expect(errors()[0]).toMatchObject({
    level: 40,
    queue: 'work',
    reason: expect.stringContaining('WRONGTYPE'),
  })
  line.cut()
  await eventually('a connection', async () => connection.status === 'ready')
  await connection.del(`${prefix}:work:wait`)
  await workers.close()
  disconnect(connection)
  expect(errors()).toHaveLength(1)
})
