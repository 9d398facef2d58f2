import { eventually, expireEvents, freshRedis, holdTransaction, make, makeProjects, newId } from '../kit.ts'
import { nilId, openForEach, openLog, openTestService, register, untilBlocked, upTo } from '../kit.ts'
import { versionOf } from '../kit.ts'
import type { Client } from '../kit.ts'
import { missingExtensions, warnAboutExtensions } from '../../src/process/database.ts'
import { runAdmin } from '../workers/run-admin.ts'
import { readCorpus, visibleDocs } from './random/corpus.ts'
import { expectHits, expectTasks } from './random/reference.ts'
import { indexedOf, listTasks, searchIds } from './scene.ts'

const forEach = openForEach()

async function open(env: Record<string, string> = {}) {
  const service = await forEach(openTestService(env))
  const sql = service.services.database.background
  const ada = await register(service.client)
  const [projectId = '', otherId = ''] = await makeProjects(ada, 2)
  const count = async () => (await sql`select from search_documents where doc is not null`).length
  return {
    ...{ service, sql, ada, projectId, otherId },
    create: (title: string) => make(ada, '/tasks', { projectId, title }),
    /** Whether each row has a document. */
    isIndexed: async () => (await count()) === (await readCorpus(sql)).docs.length,
    async expectComplete(...queries: string[]): Promise<void> {
      const docs = visibleDocs(await readCorpus(sql), ada.id)
      for (const q of queries) {
        await expectHits(ada, docs, q)
        await expectTasks(ada, docs, q)
      }
    },
  }
}

async function createMany(client: Client, projectId: string, count: number, title = 'Ring'): Promise<void> {
  for (const n of upTo(count / 500)) {
    const operations = upTo(500).map((i) => ({ op: 'task.create', title: `${title} ${n * 500 + i}` }))
    expect((await client.post(`/projects/${projectId}/batch`, { operations })).status).toBe(200)
  }
}

test('a search that cannot index says how many events it lacks, and has no ETag', async () => {
  const { ada, sql, projectId, create } = await open({ READ_TIMEOUT_MS: '2000' })
  await create('Draw the plate')
  const paths = [`/search?projectId=${projectId}&q=plate`, `/tasks?projectId=${projectId}&q=plate`]
  for (const path of [...paths, '/search?q=plate']) expect(await indexedOf(ada, path)).toBe('all')
  const release = await holdTransaction(sql, (tx) => tx`lock table search_documents in exclusive mode`)
  for (const n of upTo(3)) await create(`Draw plate ${n}`)
  for (const path of [...paths, '/search?q=plate']) {
    const { status, headers, body } = await ada.get(path)
    expect([status, headers.get('docket-indexed'), body.length]).toEqual([200, 'behind: 3', 1])
    expect(headers.get('etag')).toBeNull()
  }
  await release()
  for (const path of paths) {
    const { headers, body } = await ada.get(path)
    expect([headers.get('docket-indexed'), body.length]).toEqual(['all', 4])
    expect(headers.get('etag')).not.toBeNull()
  }
})

test('a search indexes 2,000 missing events at once, also those of many projects', async () => {
  const { ada, projectId } = await open()
  await createMany(ada, projectId, 1_500)
  const others = await makeProjects(ada, 200)
  for (const id of others.slice(0, 20)) await make(ada, '/tasks', { projectId: id, title: 'Ring of brass' })
  expect(await indexedOf(ada)).toBe('all')
  expect((await listTasks(ada, 'ring')).length).toBe(1_520)
})

test('searches beside a flood of creates get 200, and miss nothing once all is indexed', async () => {
  const { ada, projectId, otherId } = await open()
  const bea = await register(ada)
  let [isOver, created] = [false, 0]
  const search = async () => {
    while (!isOver) {
      const before = created
      const { status, headers, body } = await ada.get('/search?q=brass&types=task&limit=200')
      const indexed = headers.get('docket-indexed')!
      expect([status, indexed]).toEqual([200, expect.stringMatching(/^(all|behind: \d+)$/)])
      if (indexed === 'all') expect(body.length).toBeGreaterThanOrEqual(before)
    }
  }
  const create = async (id: string) => {
    for (const n of upTo(10)) {
      await createMany(ada, id, 500)
      await make(ada, '/tasks', { projectId, title: `Brass ${n}` })
      created++
    }
  }
  const creates = Promise.all([projectId, otherId].map(create)).finally(() => (isOver = true))
  await Promise.all([search(), search(), creates])
  await eventually('the rest', async () => (await indexedOf(ada)) === 'all')
  expect((await searchIds(ada, 'brass')).length).toBe(created)
  expect((await listTasks(ada, 'ring')).length).toBe(10_000)
  expect(await indexedOf(bea)).toBe('all')
}, 300_000)

for (const state of ['with an earlier search', 'without an earlier search', 'after an upgrade'])
  test(`events that expire before they are indexed lose no change, ${state}`, async () => {
    const { ada, sql, projectId, create, expectComplete } = await open()
    const [kept, changed] = [await create('Keep plate'), await create('Draw plate')]
    const deleted = await create('Lose plate')
    const comment = await make(ada, `/tasks/${kept.id}/comments`, { text: 'In brass' })
    if (state === 'with an earlier search') await expectComplete('plate', 'brass')
    await ada.patch(`/tasks/${changed.id}`, { title: 'Draw the wheel' })
    await ada.delete(`/tasks/${deleted.id}`)
    await ada.patch(`/tasks/comments/${comment.id}`, { text: 'In iron' })
    await sql`update events set at = now() - interval '31 days'`
    await expireEvents(sql, 30, { batchRows: 1_000, pauseMs: 0 })
    if (state === 'after an upgrade') await sql`truncate search_documents, search_cursors`
    // The previous release has a table of its own.
    await sql`insert into search (project_id, id, kind, at, doc) values (${projectId}, ${kept.id}, 0, now(), '')`
    await expectComplete('plate', 'wheel', 'brass', 'iron', 'lose')
    await create('After the plate')
    await expectComplete('plate', 'after')
    expect(await sql`select from search where doc = ''`).toHaveLength(1)
  })

test('comments and subtasks move, disappear and return with their task', async () => {
  const { ada, projectId, otherId, create, expectComplete, isIndexed } = await open()
  const { id } = await create('Draw the plate')
  const comment = await make(ada, `/tasks/${id}/comments`, { text: 'Needle' })
  await make(ada, `/tasks/${id}/subtasks`, { title: 'Thread' })
  // A move has an event for each 100 of these comments.
  const operations = upTo(250).map((n) => ({ op: 'comment.create', taskId: id, text: `Pin ${n}` }))
  expect((await ada.post(`/projects/${projectId}/batch`, { operations })).status).toBe(200)
  await expectComplete('needle thread')
  for (const to of [otherId, projectId, otherId]) {
    await ada.patch(`/tasks/${id}`, { projectId: to })
    if (to === projectId) await ada.delete(`/tasks/comments/${comment.id}`)
    await expectComplete('needle', 'plate thread', 'pin', 'pin 7', 'pin 249')
    expect((await listTasks(ada, 'thread', { projectId: to })).length).toBe(1)
  }
  await ada.delete(`/tasks/${id}`)
  await expectComplete('needle', 'thread', 'pin')
  expect(await isIndexed()).toBeTrue()
  const undone = await ada.post(`/projects/${otherId}/undo`, { seq: await versionOf(ada, otherId) })
  expect(undone.status).toBe(200)
  await expectComplete('plate thread', 'pin')
})

test('an older event replaces neither the document of a newer event, nor that of a deleted row', async () => {
  const { ada, sql, create } = await open()
  const [changed, deleted] = [await create('Draw the plate'), await create('Lose the plate')]
  expect(await searchIds(ada, 'plate')).toEqual([deleted.id, changed.id])
  // As if another process had indexed later events.
  const later = 'ffffffff-ffff-7fff-bfff-ffffffffffff'
  await sql`update search_documents set doc = '''wheel'':1A', event_id = ${later} where id = ${changed.id}`
  await sql`update search_documents set doc = null, event_id = ${later} where id = ${deleted.id}`
  for (const { id } of [changed, deleted]) await ada.patch(`/tasks/${id}`, { title: 'Draw the older plate' })
  expect(await searchIds(ada, 'wheel')).toEqual([changed.id])
  expect(await searchIds(ada, 'older')).toEqual([])
})

test('a fill that has read a comment writes no document after the deletion of its task', async () => {
  const { service, sql, ada, projectId, create, isIndexed } = await open()
  const { id } = await create('Draw the plate')
  await make(ada, `/tasks/${id}/comments`, { text: 'In brass' })
  expect(await searchIds(ada, 'brass')).toHaveLength(1)
  await sql`delete from search_documents where project_id = ${projectId}`
  // The fill waits for this row after it has read the task and the comment.
  const release = await holdTransaction(
    sql,
    (tx) => tx`insert into search_documents (id, project_id, kind, at, event_id, doc)
      values (${projectId}, ${projectId}, 'project', now(), ${nilId}, '')`,
  )
  expect(await runAdmin(service, 'search', 'refill', projectId)).toMatchObject({ code: 0 })
  service.startWorkers()
  await untilBlocked(sql, 1, '%insert into search_documents%')
  await ada.delete(`/tasks/${id}`)
  await untilBlocked(sql, 1, '%from search_cursors%')
  await release()
  await eventually('the end of the fill', async () => (await indexedOf(ada)) === 'all')
  expect(await isIndexed()).toBeTrue()
})

test('a worker indexes without a search, also changes from before its start and without Redis', async () => {
  const redis = await forEach(freshRedis())
  const { service, ada, create, isIndexed } = await open({ REDIS_URL: redis.url })
  const { id } = await create('Draw the plate')
  const first = await forEach(openTestService(service.env))
  first.startWorkers()
  await eventually('the earlier task', isIndexed)
  service.startWorkers()
  await first.close()
  await make(ada, `/tasks/${id}/comments`, { text: 'Too thin' })
  await eventually('the comment, by the other worker', isIndexed)
  await redis.stop()
  await create('Draw the ring')
  await eventually('the task without Redis', isIndexed)
})

test('a worker deletes what remains of deleted rows and projects', async () => {
  const { service, sql, ada, otherId, create, expectComplete } = await open({
    SWEEP_EVERY_MS: '50',
  })
  const { id } = await create('Draw the plate')
  await make(ada, '/tasks', { projectId: otherId, title: 'Oil the plate' })
  await expectComplete('plate')
  await ada.delete(`/tasks/${id}`)
  await expectComplete('plate')
  const orphanId = newId()
  await sql`insert into search_cursors (project_id, seq, event_id) values (${orphanId}, 1, ${orphanId})`
  await sql`insert into search_documents (id, project_id, kind, at, event_id, doc)
    values (${orphanId}, ${orphanId}, 'project', now(), ${orphanId}, '')`
  const countOf = async (where: object) =>
    (await sql`select from search_documents where ${where as never}`).length
  expect(await countOf(sql`id = ${id} and doc is null and title is null`)).toBe(1)
  await sql`update search_documents set at = now() - interval '61 minutes' where id = ${id}`
  await ada.delete(`/projects/${otherId}`)
  service.startWorkers()
  await eventually(
    'the deletions',
    async () => (await countOf(sql`id in (${id}, ${orphanId}) or project_id = ${otherId}`)) === 0,
  )
  expect(await sql`select from search_cursors where project_id = ${otherId}`).toHaveLength(0)
})

test('admin shows the progress of the index, and fills projects again', async () => {
  const { service, sql, create, projectId, isIndexed } = await open()
  await create('Draw the plate')
  const status = async () => (await runAdmin(service, 'search')).text
  expect(await status()).toMatch(
    /^filled +0 % of the tasks; 2 projects not complete\nbehind +2 projects with/,
  )
  service.startWorkers()
  await eventually('the index', async () => (await isIndexed()) && (await status()).includes(' 100 %'))
  await sql`update search_documents set doc = '', event_id = 'ffffffff-ffff-7fff-bfff-ffffffffffff'`
  expect(await runAdmin(service, 'search', 'refill', projectId)).toEqual({
    code: 0,
    text: '1 project will be filled again',
  })
  expect(await runAdmin(service, 'search', 'refill', 'all')).toMatchObject({ code: 0 })
  const isFilled = async () => (await sql`select from search_documents where doc = ''`).length === 0
  await eventually('the second fill', isFilled)
  expect(await runAdmin(service, 'search', 'refill', newId())).toMatchObject({ code: 1 })
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
  expect((await ada.get('/search?q=plate')).body).toHaveLength(1)
  expect((await ada.get('/search?q=plape')).body).toHaveLength(0)
})
