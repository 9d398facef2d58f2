import { beforeEach, expect, test } from 'bun:test'
import { type Changes, readChanges } from '../../modules/search/indexing/changes.ts'
import { readPages } from '../../modules/search/indexing/fill-pages.ts'
import { openSearchIndex } from '../../modules/search/indexing/index-projects.ts'
import { firstRows } from '../../modules/search/indexing/positions.ts'
import { documentsOf } from '../../modules/search/indexing/rows.ts'
import { makeProjects, upTo } from '../races/pair.ts'
import { openScene } from '../support/scene.ts'
import { expectIndexed } from './indexed.ts'

const { ada, sql } = await openScene(['Ada'])
const index = openSearchIndex(sql, 10_000)

const maxBytes = 1_048_576
const longText = 'a'.repeat(20_000)
const longTasks = 60

let [busy, calm] = ['', '']

beforeEach(async () => {
  ;[busy = '', calm = ''] = await makeProjects(ada, 2)
  await index.bringUpToDate([busy, calm])
})

async function create(projectId: string, count: number, description?: string): Promise<void> {
  const operations = upTo(count).map((n) => ({ op: 'task.create', title: `Ring ${n}`, description }))
  expect((await ada.post(`/projects/${projectId}/batch`, { operations })).status).toBe(200)
}

const createLong = async () => {
  for (const _ of upTo(4)) await create(busy, longTasks / 4, longText)
}

const refill = () => sql`update search_positions set fill = ${JSON.stringify(firstRows)}::text::jsonb`

const textsOf = (all: Changes[]) => all.flatMap(({ rows }) => rows.map(({ text }) => text ?? '')).join('')

const countsOf = (all: Changes[]) =>
  [busy, calm].map((id) => all.find(({ position }) => position.projectId === id)!.rows.length)

test('a step reads about a megabyte of texts, and the next steps read the others', async () => {
  await createLong()
  const changes = await readChanges(sql, [busy])
  expect(changes[0]!.hasMore).toBe(true)
  expect(textsOf(changes).length).toBeWithin(maxBytes / 2, maxBytes + longText.length)
  await expectIndexed(sql, index, [busy])
  await refill()
  const pages = await readPages(sql, [busy])
  expect(pages[0]!.hasMore).toBe(true)
  expect(textsOf(pages).length).toBeWithin(maxBytes / 2, maxBytes + longText.length)
  await sql`delete from search`
  await expectIndexed(sql, index, [busy, calm])
})

test('a step reads the rows of many projects up to its limit', async () => {
  for (const id of [busy, calm]) await create(id, 30)
  await refill()
  expect(countsOf(await readPages(sql, [busy, calm], 40))).toEqual([21, 21])
})

test('a step has more events of a project that is far behind if the other projects need fewer', async () => {
  await create(busy, 60)
  await create(calm, 1)
  expect(countsOf(await readChanges(sql, [busy, calm], 40))).toEqual([39, 1])
  await create(calm, 60)
  expect(countsOf(await readChanges(sql, [busy, calm], 40))).toEqual([20, 20])
})

test('other requests continue while long texts are indexed', async () => {
  const row = { projectId: busy, kind: 0, id: busy, taskId: busy, at: '', number: 1, title: 'Ring' }
  const rows = upTo(40).map(() => ({ ...row, text: '東京都日本語文書検索'.repeat(1_000) }))
  let turns = 0
  const count = () => void (turns++, (timer = setImmediate(count)))
  let timer = setImmediate(count)
  expect(await documentsOf(rows)).toHaveLength(40)
  clearImmediate(timer)
  expect(turns).toBeGreaterThan(1)
})
