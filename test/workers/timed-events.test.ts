import { freshRedis, holdTransaction, openForEach, openTestService, spawnService, upTo } from '../kit.ts'
import type { Sql } from '../kit.ts'
import { findTasks, firstTask, kinds, oldestAge, openRound } from '../../workers/timed-events.ts'
import { openTimes } from './times-scene.ts'

const forEach = openForEach()
const open = async (env: Record<string, string> = {}) => openTimes(await forEach(openTestService(env)))

test('a worker that starts later records the missed events, even if no web process runs', async () => {
  const scene = await open()
  const { service, sql } = scene
  const projects = [await scene.createTimed(20), await scene.createTimed(20)]
  await scene.untilPassed()
  expect(await oldestAge(sql)).toBeGreaterThan(0)
  await forEach(spawnService('worker', service.env))
  await scene.untilRecorded(projects)
  expect(await scene.timedEvents()).toEqual(scene.expected(projects))
  expect(await oldestAge(sql)).toBe(0)
  expect(await sql`select from tasks where attempts = 1 and claimed_by is null`).toHaveLength(40)
})

test('a project whose commits wait for a lock delays no other project', async () => {
  const scene = await open({ JOB_BATCH_ROWS: '3' })
  const { service } = scene
  const [slow, other] = [await scene.createTimed(20), await scene.createTimed(1)]
  const release = await holdTransaction(
    service.services.database.reads,
    (tx) => tx`select from streams where project_id = ${slow.projectId} for update`,
  )
  service.startWorkers()
  await scene.untilRecorded([other])
  expect(await scene.timedEvents()).toEqual(scene.expected([other]))
  await release()
  await scene.untilRecorded([slow, other])
})

test('workers record timed events without Redis', async () => {
  const redis = await forEach(freshRedis())
  const scene = await open({ REDIS_URL: redis.url })
  scene.service.startWorkers()
  scene.service.startWorkers()
  await redis.stop()
  const projects = [await scene.createTimed(3)]
  await scene.untilRecorded(projects)
  expect(await scene.timedEvents()).toEqual(scene.expected(projects))
})

test('of several workers, one searches at a time with Redis, and each without Redis', async () => {
  const redis = await forEach(freshRedis())
  const scene = await open({ REDIS_URL: redis.url })
  const { projectId } = await scene.createTimed(1)
  await scene.untilPassed()
  const found: string[] = []
  const recorder = { add: async (id: string) => void found.push(id) }
  const pages = { batchRows: 10, pauseMs: 0 }
  const search = () =>
    Promise.all(upTo(3).map(() => openRound(scene.service.services, kinds[0]!, recorder, pages)()))
  await search()
  expect(found).toEqual([projectId])
  await redis.stop()
  await search()
  expect(found).toEqual([projectId, projectId, projectId, projectId])
})

test('nothing is recorded for a deleted project or task', async () => {
  const scene = await open()
  const { ada, sql } = scene
  const [deleted, kept] = [await scene.createTimed(2), await scene.createTimed(2)]
  await ada.delete(`/projects/${deleted.projectId}`)
  await ada.delete(`/tasks/${kept.ids[0]}`)
  await scene.untilPassed()
  for (const kind of kinds) {
    const found = await findTasks(sql, kind, firstTask, 10)
    expect(found.filter(({ isInProject }) => isInProject).map(({ id }) => id)).toEqual([kept.ids[1]!])
  }
  scene.service.startWorkers()
  kept.ids.shift()
  await scene.untilRecorded([kept])
  expect(await scene.timedEvents()).toEqual(scene.expected([kept]))
})

test('the searches read large tables by index only, in pages', async () => {
  const { service } = await open({ BACKGROUND_TIMEOUT_MS: '60000' })
  const { background } = service.services.database
  await background`insert into tasks (id, project_id, number, title, status, priority, created_at, updated_at, event_id,
      due_date, due_after, remind_at, claimed_by, claimed_until)
    select gen_random_uuid(), gen_random_uuid(), n, 'T', 'TODO', 'LOW', now(), now(), gen_random_uuid(), at, null,
      at, gen_random_uuid(), at
    from generate_series(1, 10000) n, lateral (select now() + (n % 2 - 0.5) * interval '1 day' as at) t`
  await background`analyze tasks`
  await background.begin(async (tx) => {
    for (const kind of kinds) {
      const first = await findTasks(tx as unknown as Sql, kind, firstTask, 100)
      const next = await findTasks(tx as unknown as Sql, kind, first.at(-1)!, 100)
      expect(new Set([...first, ...next].map(({ id }) => id)).size).toBe(200)
    }
    expect(await oldestAge(tx as unknown as Sql)).toBe(0)
    const [scanned] =
      await tx`select sum(seq_tup_read)::int4 as rows from pg_stat_xact_user_tables where relname = 'tasks'`
    expect(scanned).toEqual({ rows: 0 })
  })
})
