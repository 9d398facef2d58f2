import { expect, test } from 'bun:test'
import { startFills } from '../../modules/search/indexing/positions.ts'
import { openSteps } from '../../modules/search/indexing/step.ts'
import { newId } from '../../src/ids.ts'
import { openLog } from '../../src/log.ts'
import { missingExtensions, warnAboutExtensions } from '../../src/postgres/extensions.ts'
import { ChangedProjects } from '../../workers/search/changed-projects.ts'
import { expireWords } from '../../workers/search/expire-words.ts'
import { searchFamilies } from '../../workers/search/families.ts'
import { countUnmerged, merge } from '../../workers/search/merge.ts'
import { openSweep } from '../../workers/search/sweep.ts'
import { eventually, makeProjects, upTo } from '../races/pair.ts'
import { expectedIndex, readIndex } from '../search/indexed.ts'
import { holdTransaction, untilBlocked } from '../support/database.ts'
import { make, register } from '../support/client.ts'
import { openForEach, openTestService } from '../support/service.ts'
import { freshRedis } from '../support/redis.ts'
import { runAdmin } from './run-admin.ts'

const forEach = openForEach()

async function open(env: Record<string, string> = {}) {
  const service = await forEach(openTestService(env))
  const sql = service.services.database.background
  const ada = await register(service.client)
  const [projectId = '', otherId = ''] = await makeProjects(ada, 2)
  return {
    ...{ service, sql, ada, projectId, otherId },
    create: (title: string) => make(ada, '/tasks', { projectId, title }),
    isIndexed: async () => Bun.deepEquals([...(await readIndex(sql))], await expectedIndex(sql)),
    valueOf: async (name: string) =>
      (await searchFamilies(sql, new ChangedProjects())).find((one) => one.name === name)!.values[0]!.value,
  }
}

test('a worker indexes changes without a search, also changes from before its start', async () => {
  const { service, create, isIndexed, ada } = await open()
  const { id } = await create('Draw the plate')
  service.startWorkers()
  await eventually('the earlier task', isIndexed)
  await make(ada, `/tasks/${id}/comments`, { text: 'Too thin' })
  await ada.patch(`/tasks/${id}`, { title: 'Draw the ring' })
  await eventually('the later changes', isIndexed)
})

test('a worker indexes changes without Redis', async () => {
  const redis = await forEach(freshRedis())
  const { service, create, isIndexed } = await open({ REDIS_URL: redis.url })
  service.startWorkers()
  await redis.stop()
  await create('Draw the plate')
  await eventually('the task', isIndexed)
})

test('when the worker that indexes stops, another worker continues', async () => {
  const { service, create, isIndexed } = await open()
  const first = await forEach(openTestService(service.env))
  first.startWorkers()
  await create('Draw the plate')
  await eventually('the first task', isIndexed)
  service.startWorkers()
  await first.close()
  await create('Draw the ring')
  await eventually('the second task', isIndexed)
})

test('the sweep finds behind projects page by page, and creates positions', async () => {
  const { sql, ada, projectId, otherId, create } = await open()
  const found: string[] = []
  const { next } = openSweep(sql, (id) => found.push(id), 1)
  for (const _ of upTo(3)) await next()
  expect(
    [...(await sql`select project_id as id from search_positions order by 1`)].map(({ id }) => id),
  ).toEqual([projectId, otherId].sort())
  expect(found).toEqual([])
  await create('Draw the plate')
  await ada.patch(`/projects/${otherId}`, { name: 'Workshop' })
  for (const _ of upTo(3)) await next()
  expect(found.sort()).toEqual([projectId, otherId].sort())
})

test('merging empties the pending list, and keeps the count of rows that are added meanwhile', async () => {
  const { sql, create, projectId, valueOf } = await open()
  const { indexChanges, fillPages } = openSteps(sql)
  await create('Draw the plate')
  await startFills(sql, [projectId])
  await fillPages([projectId])
  expect(await countUnmerged(sql)).toBe(2)
  expect(await valueOf('docket_search_unmerged_rows')).toBe(2)
  const release = await holdTransaction(sql, (tx) => tx`update search_unmerged set rows = rows + 3`)
  const merging = merge(sql)
  await untilBlocked(sql, 1, 'update search_unmerged%')
  await release()
  expect(await merging).toBe(true)
  expect(await countUnmerged(sql)).toBe(3)
  expect(await sql`select from search where doc @@ 'plate'`).toHaveLength(1)
  await indexChanges([projectId])
})

test('one process at a time merges', async () => {
  const { sql } = await open()
  const release = await holdTransaction(sql, (tx) => tx`select pg_advisory_xact_lock(${0x73726368})`)
  expect(await merge(sql)).toBe(false)
  await release()
  expect(await merge(sql)).toBe(true)
})

test('words stay for an hour after the last document with them', async () => {
  const { sql, create, ada, projectId } = await open()
  const { fillPages, indexChanges } = openSteps(sql)
  const { id } = await create('Draw the plate')
  await startFills(sql, [projectId])
  await fillPages([projectId])
  await ada.patch(`/tasks/${id}`, { title: 'Draw the ring' })
  await indexChanges([projectId])
  const words = async () => [...(await sql`select word from search_words order by 1`)].map(({ word }) => word)
  const throttle = { batchRows: 500, pauseMs: 0 }
  expect(await words()).toEqual(['draw', 'plate', 'ring', 'the'])
  await expireWords(sql, throttle)
  expect(await words()).toContain('plate')
  await sql`update search_words set unused_since = now() - interval '61 minutes'`
  await expireWords(sql, throttle)
  expect(await words()).toEqual(['draw', 'ring', 'the'])
  expect(await sql`select from search_words where unused_since is not null`).toHaveLength(0)
})

test('a word that a new title contains is no longer unused', async () => {
  const { sql, create, projectId } = await open()
  await sql`insert into search_words (word, unused_since) values ('plate', now() - interval '2 hours')`
  await create('Draw the plate')
  await startFills(sql, [projectId])
  await openSteps(sql).fillPages([projectId])
  expect(await sql`select from search_words where unused_since is not null`).toHaveLength(0)
})

test('admin shows the progress of the index, and fills projects again', async () => {
  const { service, sql, create, projectId, isIndexed, valueOf } = await open()
  await create('Draw the plate')
  const status = async () => (await runAdmin(service, 'search')).text
  expect(await status()).toMatch(
    /^filled {6}0 % of the tasks; 2 projects not complete\nbehind {6}0 projects with/,
  )
  service.startWorkers()
  await eventually('the fill', isIndexed)
  await eventually('the end of the fill', async () => (await status()).startsWith('filled      100 %'))
  expect(await valueOf('docket_search_filling_projects')).toBe(0)
  await sql`update search set doc = ''`
  expect(await runAdmin(service, 'search', 'refill', projectId)).toEqual({
    code: 0,
    text: '1 project will be filled again',
  })
  expect(await runAdmin(service, 'search', 'refill', 'all')).toMatchObject({ code: 0 })
  await eventually('the second fill', isIndexed)
  expect(await runAdmin(service, 'search', 'refill', newId())).toMatchObject({ code: 1 })
})

test('metrics show how long the oldest change waits', async () => {
  const changed = new ChangedProjects()
  expect([changed.size, changed.lagSeconds()]).toEqual([0, 0])
  changed.add('a', performance.now() - 2_000)
  changed.add('b')
  changed.add('a')
  expect([...changed.take(1).keys()]).toEqual(['a'])
  expect(changed.lagSeconds()).toBeGreaterThan(1.9)
  changed.done()
  expect(changed.lagSeconds()).toBeLessThan(1.9)
  expect([...changed.take(5).keys()]).toEqual(['b'])
})

test('the service starts without the extensions, and names them in one line', async () => {
  const { sql, service, create, ada } = await open()
  expect(await missingExtensions(sql)).toEqual([])
  await sql`drop extension pg_trgm cascade`
  expect(await missingExtensions(sql)).toEqual(['pg_trgm'])
  const lines: unknown[] = []
  const log = { ...openLog('silent'), warn: (line: unknown) => lines.push(line) } as never
  warnAboutExtensions(log, ['pg_trgm'])
  expect(lines).toEqual([
    'the database lacks an extension: searches without a hit suggest no similar titles (pg_trgm)',
  ])
  expect((await runAdmin(service, 'search')).text).toContain('missing extensions  pg_trgm')
  await create('Draw the plate')
  const { status, body } = await ada.get('/search?q=plate')
  expect([status, body.length]).toEqual([200, 1])
  expect((await ada.get('/search?q=plape')).body).toHaveLength(0)
})
