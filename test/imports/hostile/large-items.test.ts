import { gzipSync } from 'node:zlib'
import { expect, test } from 'bun:test'
import { newId } from '../../../src/ids.ts'
import { readRecords } from '../../../workers/imports/staged.ts'
import { upTo } from '../../races/pair.ts'
import { task } from '../run/items.ts'
import { fileOf, openRunScene, tasksOf } from '../run/scene.ts'

const { newProject, queue, work, resultOf, sql, client: _ } = await openRunScene()

const characters = 900_000
const texts = {
  'compresses well': 'x'.repeat(characters),
  'does not compress': Buffer.from(crypto.getRandomValues(new Uint8Array(65_536)))
    .toString('base64')
    .repeat(11)
    .slice(0, characters),
}

/** Stores a task with a comment, each with a long text. */
async function storeItems(importId: string, n: number, text: string) {
  const common = { import_id: importId, row: n, n }
  const items = [
    { ...common, kind: 'task', key: `${n}`, parent: null, item: { title: 'a', notes: [text] } },
    { ...common, kind: 'comment', key: `c${n}`, parent: `${n}`, item: { task: `${n}`, text } },
  ]
  for (const one of items)
    await sql`
      insert into import_items (import_id, kind, n, row, key, parent, id, item)
      values (${one.import_id}, ${one.kind}, ${one.n}, ${one.row}, ${one.key}, ${one.parent}, ${newId()},
        ${JSON.stringify(one.item)}::text::jsonb)`
}

test.each(Object.entries(texts))('reads about 4 MB of items at once if their text %s', async (_, text) => {
  const id = newId()
  for (const n of upTo(10)) await storeItems(id, n, text)
  const read: number[][] = []
  for (let at: Parameters<typeof readRecords>[2] = { n: 0 }; ;) {
    const page = await readRecords(sql, id, at, 200)
    if (!page) break
    read.push(page.children.map(({ n }) => n))
    at = page.end
  }
  expect(read).toEqual([upTo(5), upTo(10).slice(5)])
})

test('reads pages of 200 small items', async () => {
  const id = newId()
  await sql`
    insert into import_items (import_id, kind, n, row, key, id, item)
    select ${id}, 'task', n, n, n, gen_random_uuid(), jsonb_build_object('title', repeat('x', 3000)) from generate_series(1, 300) n`
  expect((await readRecords(sql, id, { n: 0 }, 200))!.tasks.length).toBe(200)
})

test('imports tasks of a million characters', async () => {
  const { owner, projectId } = await newProject()
  const items = upTo(12).map((n) => task(`${n}`, { description: texts['compresses well'] }))
  const id = await queue(owner, projectId, gzipSync(fileOf(items)))
  await work(id)
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts: { created: 12 } })
  expect((await tasksOf(owner, projectId)).length).toBe(12)
})
