import { eventually, forFile, freshRedis, newId, nilId, openSweep, openTestService } from '../kit.ts'
import { orphanStreams, queueOrphanJobs, register } from '../kit.ts'
import type { Person, TestService } from '../kit.ts'
import { flushRedis, createFullProject, outboxSize, rowsWith, untilOutboxEmpty } from './remains.ts'
import type { FullProject } from './remains.ts'
import { runAdmin } from './run-admin.ts'

const attempts = 3
let service: TestService
let ada: Person
let doomed: FullProject
const sql = () => service.services.database.reads
const redis = await forFile(freshRedis())
beforeEach(async () => {
  service = await openTestService({
    REDIS_URL: redis.url,
    JOB_ATTEMPTS: String(attempts),
    SWEEP_EVERY_MS: '50',
    LOG_LEVEL: 'silent',
  })
  ada = await register(service.client)
  doomed = await createFullProject(ada, 2)
})
afterEach(async () => {
  await service.close()
  await flushRedis(redis.url)
})

/** Makes each deletion of comments fail. A sequence counts the attempts, because a rollback does not reset it. */
async function refuse(): Promise<void> {
  await sql()`create sequence tries minvalue 0`
  await sql()`create function refuse() returns trigger language plpgsql as
    'begin perform nextval(''tries''); raise exception ''Not today''; end'`
  await sql()`create trigger refuse before delete on comments for each statement execute function refuse()`
}
const allow = () => sql()`drop trigger refuse on comments`
const tries = async () => Number((await sql()`select last_value from tries`)[0]!.lastValue) + 1

interface Row {
  id: string
  attempts: number
  error: string | null
  parkedAt: string | null
}
const row = async () => (await sql()<Row[]>`select id, attempts, error, parked_at from outbox`)[0]
const parked = () => eventually('a dead letter', async () => Boolean((await row())?.parkedAt))
const manage = (...words: string[]) => runAdmin(service, 'jobs', ...words)

async function park(): Promise<Row> {
  await refuse()
  await ada.delete(`/projects/${doomed.id}`)
  service.startWorkers()
  await parked()
  return (await row())!
}

test('a failing job becomes a dead letter with its error after the last attempt', async () => {
  expect(await park()).toMatchObject({ attempts, error: 'P0001: Not today' })
  const { queue } = service.services.jobs
  await eventually('an empty queue', async () => (await queue.getJobCountByTypes()) === 0)
  // Jobs after the dead letter still run.
  await ada.delete(`/projects/${(await createFullProject(ada, 0)).id}`)
  await eventually('the end of the other job', async () => (await outboxSize(sql())) === 1)
  expect(await openSweep(sql(), service.services.jobs)()).toBe(0)
  expect(await tries()).toBe(attempts)
})

test('counts attempts even when Redis loses the job', async () => {
  await refuse()
  await ada.delete(`/projects/${doomed.id}`)
  service.startWorkers()
  for (let n = 1; n < attempts; n++) {
    await eventually(`try ${n}`, async () => (await row())!.attempts >= n)
    await flushRedis(redis.url)
  }
  await parked()
  // An attempt that was running when Redis lost the job may end only now.
  await eventually('the last try', async () => (await tries()) === attempts)
  expect(await row()).toMatchObject({ attempts })
})

test('a retried job runs again', async () => {
  const { id } = await park()
  const listed = await manage()
  expect(listed.code).toBe(0)
  for (const part of [id, 'purge-project', doomed.id, `${attempts} attempts`, 'Not today', '1 dead letter'])
    expect(listed.text).toContain(part)
  await allow()
  expect(await manage('retry', id)).toEqual({ code: 0, text: '1 job will be retried' })
  await untilOutboxEmpty(sql())
  expect(await rowsWith(sql(), doomed.ids)).toEqual({})
})

test('an orphan gets no new purge job while its job is a dead letter, and gets a new job when the dead letter is dropped', async () => {
  const { id } = await park()
  const look = async () => (await queueOrphanJobs(sql(), orphanStreams, nilId, 1_000)).queued
  expect(await look()).toBe(0)
  expect(await manage('drop', id)).toEqual({ code: 0, text: '1 job dropped' })
  expect(await outboxSize(sql())).toBe(0)
  expect(await look()).toBe(1)
})

test('the jobs command rejects unknown ids and words, and leaves pending jobs unchanged', async () => {
  await ada.delete(`/projects/${doomed.id}`)
  const { id } = (await row())!
  for (const verb of ['retry', 'drop']) {
    expect(await manage(verb, id)).toEqual({ code: 1, text: `No dead letter has the id ${id}` })
    expect(await manage(verb, 'x')).toEqual({ code: 1, text: 'No dead letter has the id x' })
    expect(await manage(verb, 'all')).toMatchObject({ code: 0, text: expect.stringContaining('0 jobs') })
    expect((await manage(verb)).code).toBe(1)
  }
  for (const words of [['sing'], ['list', 'all'], ['constructor', 'x'], ['drop', id, id]])
    expect(await manage(...words)).toMatchObject({ code: 1, text: expect.stringContaining('jobs retry') })
  expect((await manage('list')).text).toBe('0 dead letters, 1 job waiting or running')
})

test('an unknown job becomes a dead letter, and its error omits the rejected value', async () => {
  await sql()`insert into outbox (id, project_id, name, data, created_at) values
    (${newId()}, null, 'sing', '{}', now()),
    (${newId()}, null, 'purge-task', '{"taskId":"the secret"}', now())`
  service.startWorkers()
  const all = () => sql()<Row[]>`select error from outbox where parked_at is not null order by name`
  await eventually('two dead letters', async () => (await all()).length === 2)
  expect((await all()).map(({ error }) => error)).toEqual([
    '22P02: invalid input syntax for type uuid: "…"',
    'This release has no job sing',
  ])
})
