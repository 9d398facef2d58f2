import { Worker } from 'bullmq'
import { eventually, holdTransaction, newId, openForEach, openTestService, register } from '../kit.ts'
import type { Person, Sql, TestService } from '../kit.ts'
import { nilId } from '../../src/id-format.ts'
import { queuePrefix } from '../../src/jobs/queue.ts'
import { openBlocking } from '../../src/redis/connections.ts'
import { orphanMembers, orphanProjects, orphanStreams, queueOrphanJobs } from '../../workers/cleanup.ts'
import { openRecurring, type StepData, recurringQueue, runStep, type Steps } from '../../workers/recurring.ts'

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
