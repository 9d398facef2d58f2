import { expect, test } from 'bun:test'
import { importsOf, openFindImport } from '../../../modules/imports/rows.ts'
import { allPages } from '../../http/list-pages.ts'
import { upTo } from '../../races/pair.ts'
import { openImportScene, start } from './scene.ts'

const scene = await openImportScene()
const { newProject, sql } = scene

/** A mapping of about 500 KB. Postgres compresses it to a few KB. */
const mapping = JSON.stringify({
  statuses: Object.fromEntries(upTo(1_000).map((n) => [`${n} `.padEnd(490, 'x'), null])),
})

test('reads about 2 MiB of the mappings of a project for a page, and returns all imports in pages', async () => {
  const { owner, projectId } = await newProject()
  const ids: string[] = []
  for (const _ of upTo(8)) {
    const { body } = await start(owner, projectId)
    await scene.end(body.id)
    ids.unshift(body.id)
  }
  await sql`update imports set mapping = ${mapping}::text::jsonb where project_id = ${projectId}`
  const rows = await importsOf(sql, projectId, { limit: 200, cursor: null })
  expect(rows.map(({ id }) => id)).toEqual(ids.slice(0, 5))
  const pages = await allPages(owner, `/projects/${projectId}/imports`)
  expect(pages.map((page) => page.length)).toEqual([2, 2, 2, 2])
  expect(pages.flat().map(({ id }) => id)).toEqual(ids)
})

test('reads an import once for several requests', async () => {
  const { owner, projectId } = await newProject()
  const { body } = await start(owner, projectId)
  const find = openFindImport(sql)
  const [one, other] = await Promise.all([find(body.id), find(body.id)])
  expect(one).toBe(other!)
})
