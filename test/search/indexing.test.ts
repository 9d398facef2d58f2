import { eventually, expireEvents, freshRedis, holdTransaction, make, makeProjects } from '../kit.ts'
import { nilId, openForEach, openTestService, register, runBatch } from '../kit.ts'
import { untilBlocked, versionOf } from '../kit.ts'
import { expectFound, readDocs, visibleTo } from './reference.ts'
import { createMany, indexedOf, listTasks, searchIds, task } from './scene.ts'

const forEach = openForEach()
/** As if another process had indexed an event later than all others. */
const latestEvent = 'ffffffff-ffff-7fff-bfff-ffffffffffff'

async function open(env: Record<string, string> = {}) {
  const service = await forEach(openTestService(env))
  const sql = service.services.database.background
  const ada = await register(service.client)
  const [projectId = '', otherId = ''] = await makeProjects(ada, 2)
  const count = async () => (await sql`select from search_documents where doc is not null`).length
  return {
    ...{ service, sql, ada, projectId, otherId },
    create: (title: string) => task(ada, projectId, title),
    /** Whether each row has a document. */
    isIndexed: async () => (await count()) === (await readDocs(sql)).length,
  }
}

test('a search that cannot index says how many events it lacks', async () => {
  const { ada, sql, projectId, create } = await open({ READ_TIMEOUT_MS: '4000' })
  await create('Draw the plate')
  const inProject = `projectId=${projectId}&q=plate`
  const paths = [`/search?${inProject}`, `/tasks?${inProject}`, '/search?q=plate']
  const answers = () =>
    Promise.all(
      paths.map(async (path) => {
        const { status, headers, body } = await ada.get(path)
        return [status, headers.get('docket-indexed'), body.length]
      }),
    )
  const expected = (indexed: string, hits: number) => paths.map(() => [200, indexed, hits])
  expect(await answers()).toEqual(expected('all', 1))
  const release = await holdTransaction(sql, (tx) => tx`lock table search_documents in exclusive mode`)
  await createMany(ada, projectId, 3, 'Draw plate')
  expect(await answers()).toEqual(expected('behind: 3', 1))
  await release()
  expect(await answers()).toEqual(expected('all', 4))
})

test('a search indexes 2,000 missing events at once, also those of many projects', async () => {
  const { ada, projectId } = await open()
  await createMany(ada, projectId, 1_500, 'Ring')
  const others = await makeProjects(ada, 200)
  for (const id of others.slice(0, 20)) await task(ada, id, 'Ring of brass')
  expect(await indexedOf(ada)).toBe('all')
  expect((await listTasks(ada, 'ring')).length).toBe(1_520)
})

test('comments and subtasks move, disappear and return with their task, and a deletion is indexed after its event expired', async () => {
  const { ada, sql, projectId, otherId, create, isIndexed } = await open()
  const id = await create('Draw the plate')
  const comment = await make(ada, `/tasks/${id}/comments`, { text: 'Needle' })
  await make(ada, `/tasks/${id}/subtasks`, { title: 'Thread' })
  // A move has an event for each 100 of these comments.
  const one = { op: 'comment.create', taskId: id, text: 'Pin' }
  await runBatch(ada, projectId, Array(250).fill(one))
  const expectComplete = async (...queries: string[]) => {
    const docs = visibleTo(await readDocs(sql), ada.id)
    for (const q of queries) await expectFound(ada, docs, q)
    expect(await isIndexed()).toBeTrue()
  }
  for (const to of [otherId, projectId, otherId]) {
    await ada.patch(`/tasks/${id}`, { projectId: to })
    if (to === projectId) await ada.delete(`/tasks/comments/${comment.id}`)
    expect((await listTasks(ada, 'thread', { projectId: to })).length).toBe(1)
    await expectComplete('needle', 'plate thread', 'pin')
  }
  await ada.delete(`/tasks/${id}`)
  await expectComplete('thread')
  const undone = await ada.post(`/projects/${otherId}/undo`, { seq: await versionOf(ada, otherId) })
  expect(undone.status).toBe(200)
  const deleted = await create('Lose the plate')
  await expectComplete('plate thread', 'pin', 'lose')
  await ada.delete(`/tasks/${deleted}`)
  await sql`update events set at = now() - interval '31 days'`
  await expireEvents(sql, 30, { batchRows: 1_000, pauseMs: 0 })
  await expectComplete('plate', 'lose')
})

test('an older event replaces neither the document of a newer event, nor that of a deleted row', async () => {
  const { ada, sql, create } = await open()
  const [changed, deleted] = [await create('Draw the plate'), await create('Lose the plate')]
  expect(await searchIds(ada, 'plate')).toEqual([deleted, changed])
  await sql`update search_documents set doc = '''wheel'':1A', event_id = ${latestEvent} where id = ${changed}`
  await sql`update search_documents set doc = null, event_id = ${latestEvent} where id = ${deleted}`
  for (const id of [changed, deleted]) await ada.patch(`/tasks/${id}`, { title: 'Draw the older plate' })
  expect(await searchIds(ada, 'wheel')).toEqual([changed])
  expect(await searchIds(ada, 'older')).toEqual([])
})

test('a fill that has read a comment writes no document after the deletion of its task', async () => {
  const { service, sql, ada, projectId, create, isIndexed } = await open()
  const id = await create('Draw the plate')
  await make(ada, `/tasks/${id}/comments`, { text: 'In brass' })
  expect(await searchIds(ada, 'brass')).toHaveLength(1)
  await sql`delete from search_documents where project_id = ${projectId}`
  // The fill waits for this row after it has read the task and the comment.
  const release = await holdTransaction(
    sql,
    (tx) => tx`insert into search_documents (id, project_id, kind, at, event_id, doc)
      values (${projectId}, ${projectId}, 'project', now(), ${nilId}, '')`,
  )
  await sql`update search_cursors set fill = ${sql.json({ task: nilId, id: nilId, number: 0 })}`
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
  const id = await create('Draw the plate')
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
  const { service, sql, ada, otherId, create } = await open({ SWEEP_EVERY_MS: '50' })
  const id = await create('Draw the plate')
  await task(ada, otherId, 'Oil the plate')
  for (const hits of [2, 1]) {
    expect(await searchIds(ada, 'plate')).toHaveLength(hits)
    await ada.delete(`/tasks/${id}`)
  }
  expect(await indexedOf(ada)).toBe('all')
  const documents = () => sql<{ id: string; isEmpty: boolean }[]>`
    select id, doc is null and title is null as is_empty from search_documents
    where id = ${id} or project_id = ${otherId}`
  expect(await documents()).toContainEqual({ id, isEmpty: true })
  await sql`update search_documents set at = now() - interval '61 minutes' where id = ${id}`
  await ada.delete(`/projects/${otherId}`)
  service.startWorkers()
  await eventually('the deletions', async () => (await documents()).length === 0)
  expect(await sql`select from search_cursors where project_id = ${otherId}`).toHaveLength(0)
})

test('workers fill the index again after its tables are emptied', async () => {
  const { service, sql, create, isIndexed } = await open({ SWEEP_EVERY_MS: '50' })
  await create('Draw the plate')
  service.startWorkers()
  await eventually('the index', isIndexed)
  await sql`truncate search_cursors, search_documents`
  await eventually('the second fill', isIndexed)
})

test('without the extension pg_trgm, searches find everything but similar titles', async () => {
  const { sql, create, ada } = await open()
  await sql`drop extension pg_trgm cascade`
  const id = await create('Draw the plate')
  expect(await searchIds(ada, 'plate')).toEqual([id])
  expect((await ada.get('/search?q=plape')).body).toHaveLength(0)
})
