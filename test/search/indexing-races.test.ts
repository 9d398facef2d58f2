import { beforeEach, expect, test } from 'bun:test'
import { readChanges } from '../../modules/search/indexing/changes.ts'
import { readPages } from '../../modules/search/indexing/fill-pages.ts'
import { openSearchIndex, type SearchIndex } from '../../modules/search/indexing/index-projects.ts'
import { startFills } from '../../modules/search/indexing/positions.ts'
import { RecentWords } from '../../modules/search/indexing/recent-words.ts'
import { writeChanges } from '../../modules/search/indexing/write.ts'
import { matchesTask } from '../../modules/search/matching-tasks.ts'
import { readSearchText } from '../../modules/search/text/query.ts'
import { openDatabase, type Sql } from '../../src/postgres/database.ts'
import { newId } from '../../src/ids.ts'
import { purgeProject } from '../../workers/cascade.ts'
import { makeProjects, upTo } from '../races/pair.ts'
import { make } from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { forFile } from '../support/service.ts'
import { expectIndexed, readIndex } from './indexed.ts'

const { ada, sql, service } = await openScene(['Ada'])
const other = await forFile(openDatabase(service.services.config))
const index = openSearchIndex(sql, 10_000)
const otherIndex = openSearchIndex(other.background, 10_000)
const words = new RecentWords(60_000)
const throttle = { batchRows: 3, pauseMs: 0 }

let [source, target] = ['', '']

beforeEach(async () => {
  ;[source = '', target = ''] = await makeProjects(ada, 2)
  await index.bringUpToDate([source, target])
})

const create = (projectId: string, title = 'Draw the plate') => make(ada, '/tasks', { projectId, title })
const idsIn = async (projectId: string) =>
  (await readIndex(sql)).filter((row) => row.projectId === projectId).map(({ id }) => id)

test('two processes that index the same projects while clients write leave exactly the current rows', async () => {
  let isOver = false
  const indexAlways = async ({ bringUpToDate }: SearchIndex) => {
    while (!isOver) await bringUpToDate([source, target])
  }
  const write = async (n: number) => {
    const [from = '', to = ''] = n % 2 ? [source, target] : [target, source]
    for (const round of upTo(6)) {
      const { id } = await create(from, `Plate ${n} ${round}`)
      await make(ada, `/tasks/${id}/comments`, { text: `Too thin ${n}` })
      await ada.patch(`/tasks/${id}`, { title: `Ring ${n} ${round}` })
      if (round % 2) await ada.patch(`/tasks/${id}`, { projectId: to })
      if (round % 3 === 0) await ada.delete(`/tasks/${id}`)
      await otherIndex.bringUpToDate([source, target])
      expect((await sql`select from search where id = ${id}`).length).toBe(round % 3 === 0 ? 0 : 1)
    }
  }
  const indexers = [index, otherIndex].map(indexAlways)
  await Promise.all(upTo(4).map(write)).finally(() => (isOver = true))
  await Promise.all(indexers)
  await expectIndexed(sql, index, [source, target])
})

test('writes nothing if another process has indexed a commit after the rows were read', async () => {
  const { id } = await create(source)
  const late = await readChanges(sql, [source])
  await ada.patch(`/tasks/${id}`, { title: 'Draw the ring' })
  await otherIndex.bringUpToDate([source])
  expect(await writeChanges(sql, late, words)).toEqual(new Set())
  await expectIndexed(sql, index, [source])
})

test('a commit after the rows were read is indexed next', async () => {
  const { id } = await create(source)
  const early = await readChanges(sql, [source])
  await ada.patch(`/tasks/${id}`, { title: 'Draw the ring' })
  expect(await writeChanges(sql, early, words)).toEqual(new Set([source]))
  await expectIndexed(sql, index, [source])
})

test('a task that moves while its previous project is indexed is found in its project', async () => {
  const { id } = await create(source)
  const late = await readChanges(sql, [source])
  await ada.patch(`/tasks/${id}`, { projectId: target })
  await index.bringUpToDate([target])
  await writeChanges(sql, late, words)
  expect(await idsIn(target)).toContain(id)
  await expectIndexed(sql, index, [source, target])
})

test('a task that moves during a search is found by its documents in the previous project', async () => {
  const { id } = await create(source)
  const projectIds = [source, target]
  await index.bringUpToDate(projectIds)
  await ada.patch(`/tasks/${id}`, { projectId: target })
  const matching = { query: readSearchText('plate'), projectIds }
  const found = (projectIds: string[]) => sql`
    select id from tasks t where project_id = ${target} and ${matchesTask(sql, sql`t.id`, { ...matching, projectIds })}`
  expect([...(await found(projectIds))]).toEqual([{ id }])
  expect([...(await found([target]))]).toEqual([])
})

test('a project that is purged while it is indexed leaves no document', async () => {
  await create(source)
  await create(target)
  const late = [...(await readChanges(sql, [source])), ...(await readPages(sql, [target]))]
  await sql`update search_positions set fill = '{"clears": true}' where project_id = ${target}`
  for (const projectId of [source, target]) {
    await ada.delete(`/projects/${projectId}`)
    await purgeProject(sql, projectId, throttle)
  }
  expect(await writeChanges(sql, late, words)).toEqual(new Set())
  await startFills(sql, [source, target])
  expect(await index.bringUpToDate([source, target])).toEqual({ indexed: 'all' })
  expect([...(await idsIn(source)), ...(await idsIn(target))]).toEqual([])
  expect([...(await sql`select from search_positions where project_id in (${source}, ${target})`)]).toEqual(
    [],
  )
})

test('a project is not deleted while its position is created, so that the purge finds the position', async () => {
  await sql`delete from search_positions where project_id = ${source}`
  const unlocked = () => other.reads`select id from projects where id = ${source} for update skip locked`
  await sql.begin(async (tx) => {
    await startFills(tx as unknown as Sql, [source])
    expect([...(await unlocked())]).toEqual([])
  })
  expect([...(await unlocked())]).toEqual([{ id: source }])
})

test('a deleted project is not indexed before its purge', async () => {
  const { id } = await create(source)
  await ada.delete(`/projects/${source}`)
  await sql`delete from search_positions where project_id = ${source}`
  await index.bringUpToDate([source])
  expect(await idsIn(source)).not.toContain(id)
})

test('fills a project again if the event at its position differs or has expired', async () => {
  const { id } = await create(source)
  await make(ada, `/tasks/${id}/comments`, { text: 'Too thin' })
  await expectIndexed(sql, index, [source])
  for (const change of [
    sql`update search_positions set event_id = ${newId()} where project_id = ${source}`,
    sql`update search_positions set seq = seq + 5 where project_id = ${source}`,
    sql`delete from events where project_id = ${source} and seq <= 2`,
  ]) {
    await sql`update search_positions set seq = 2, event_id = (select id from events where project_id = ${source} and seq = 2)
      where project_id = ${source}`
    await sql`update search set doc = 'another' where project_id = ${source}`
    await sql`insert into search (project_id, id, kind, at, doc) values (${source}, ${newId()}, 0, now(), 'old')`
    await change
    await expectIndexed(sql, index, [source])
  }
})

test('a fill in small pages finds every row, also rows that change meanwhile', async () => {
  const tasks = await Promise.all(upTo(7).map((n) => create(source, `Plate ${n}`)))
  for (const { id } of tasks.slice(0, 3))
    for (const n of upTo(5)) await make(ada, `/tasks/${id}/comments`, { text: `Too thin ${n}` })
  await sql`delete from search_positions where project_id = ${source}`
  await sql`delete from search where project_id = ${source}`
  await startFills(sql, [source])
  let left = 1
  for (let page = 1; left > 0; page++) {
    const pages = await readPages(sql, [source], 4)
    if (page === 2) await ada.patch(`/tasks/${tasks[0]!.id}`, { title: 'Ring' })
    if (page === 3) await ada.delete(`/tasks/${tasks[6]!.id}`)
    const written = await writeChanges(sql, pages, words)
    expect(written).toEqual(new Set([source]))
    left = pages.filter(({ hasMore }) => hasMore).length
  }
  const [position] = await sql`select fill from search_positions where project_id = ${source}`
  expect(position).toEqual({ fill: null })
  await expectIndexed(sql, index, [source])
})

test('a page of the fill that was read before another step writes nothing', async () => {
  const { id } = await create(source)
  await sql`delete from search_positions where project_id = ${source}`
  await startFills(sql, [source])
  const late = await readPages(sql, [source])
  await ada.patch(`/tasks/${id}`, { title: 'Ring' })
  await writeChanges(sql, await readChanges(sql, [source]), words)
  expect(await writeChanges(sql, late, words)).toEqual(new Set())
  await expectIndexed(sql, index, [source])
})
