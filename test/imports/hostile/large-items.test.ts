import { gzipSync } from 'node:zlib'
import { newId, upTo } from '../../kit.ts'
import { readChildren, readTasks } from '../../../workers/imports/staged.ts'
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

test.each(Object.entries(texts))('reads about 4 MB of items at once if their text %s', async (_, text) => {
  const id = newId()
  for (const n of upTo(10))
    for (const kind of ['task', 'child'])
      await sql`
        insert into import_items (import_id, kind, n, row, key, parent, id, item)
        values (${id}, ${kind}, ${n}, ${n}, ${n}, ${kind === 'task' ? null : n}, ${newId()},
          ${JSON.stringify({ title: 'a', text })}::text::jsonb)`
  for (const read of [
    readTasks,
    (...args: Parameters<typeof readTasks>) => readChildren(args[0], id, 'child', args[2], 200),
  ])
    for (const after of [0, 5]) {
      const page: { n: number }[] = await read(sql, id, after, 200)
      expect(page.map(({ n }) => n)).toEqual(upTo(5).map((n) => after + n))
    }
})

test('imports tasks of a million characters', async () => {
  const { owner, projectId } = await newProject()
  const items = upTo(12).map((n) => task(`${n}`, { description: texts['compresses well'] }))
  const id = await queue(owner, projectId, gzipSync(fileOf(items)))
  await work(id)
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts: { created: 12 } })
  expect((await tasksOf(owner, projectId)).length).toBe(12)
})
