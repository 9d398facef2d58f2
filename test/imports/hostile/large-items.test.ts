import { gzipSync } from 'node:zlib'
import { expect, test } from 'bun:test'
import { newId } from '../../../src/ids.ts'
import { readChildren, readTasks } from '../../../workers/imports/steps/items.ts'
import { readLinks } from '../../../workers/imports/steps/linked-tasks.ts'
import { readLeaves } from '../../../workers/imports/steps/leaves.ts'
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

/** Stores a task with a sub-item, a comment and a blocker, each with a long text. */
async function storeItems(importId: string, n: number, text: string) {
  const item = (value: unknown) => JSON.stringify(value)
  const common = { import_id: importId, row: n, id: newId() }
  const items = [
    { ...common, kind: 'task', n, key: `${n}`, parent: null, item: item({ title: 'a', notes: [text] }) },
    {
      ...common,
      kind: 'task',
      n: n + 100,
      key: `s${n}`,
      parent: `${n}`,
      item: item({ title: 'b', notes: [text] }),
    },
    { ...common, kind: 'comment', n, key: `c${n}`, parent: `${n}`, item: item({ task: `${n}`, text }) },
    { ...common, kind: 'links', n, key: `${n}`, parent: null, item: item([text]) },
  ]
  for (const one of items)
    await sql`
      insert into import_items (import_id, kind, n, row, key, parent, id, item)
      values (${one.import_id}, ${one.kind}, ${one.n}, ${one.row}, ${one.key}, ${one.parent}, ${one.id},
        ${one.item}::text::jsonb)`
}

test.each(Object.entries(texts))('reads about 4 MB of items at once if their text %s', async (_, text) => {
  const id = newId()
  for (const n of upTo(10)) await storeItems(id, n, text)
  const ns = async (rows: Promise<{ n: number }[]>) => (await rows).map(({ n }) => n)
  expect(await ns(readTasks(sql, id, 0, 200))).toEqual(upTo(5))
  expect(await ns(readTasks(sql, id, 5, 200))).toEqual([...upTo(10).slice(5)])
  expect(await ns(readChildren(sql, id, 'comment', 3, 200))).toEqual([4, 5, 6, 7, 8])
  expect(await ns(readLinks(sql, id, 8, 200))).toEqual([9, 10])
  const leaves = await readLeaves(sql, id, 0, 1_000)
  expect([leaves.items.map(({ n }) => n), leaves.end]).toEqual([[101, 102, 103, 104, 105], 105])
  const last = await readLeaves(sql, id, leaves.end, 1_000)
  expect([last.items.length, last.end]).toEqual([5, 1_000])
})

test('reads pages of 200 small items', async () => {
  const id = newId()
  await sql`
    insert into import_items (import_id, kind, n, row, key, id, item)
    select ${id}, 'task', n, n, n, gen_random_uuid(), jsonb_build_object('title', repeat('x', 3000)) from generate_series(1, 300) n`
  expect((await readTasks(sql, id, 0, 200)).length).toBe(200)
})

test('imports tasks of a million characters', async () => {
  const { owner, projectId } = await newProject()
  const items = upTo(12).map((n) => task(`${n}`, { description: texts['compresses well'] }))
  const id = await queue(owner, projectId, gzipSync(fileOf(items)))
  await work(id)
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts: { created: 12 } })
  expect((await tasksOf(owner, projectId)).length).toBe(12)
})
