import { expect, test } from 'bun:test'
import { allPages, nextPath } from '../http/list-pages.ts'
import { upTo } from '../races/pair.ts'
import { openScene } from '../support/scene.ts'
import { project, search, task } from './scene.ts'

const { ada } = await openScene(['Ada'])
const engine = await project(ada, 'Engine')
const operations = (count: number, title: string) =>
  upTo(count).map((n) => ({ op: 'task.create', title: `${title} ${n}` }))

test('pages contain every hit once and in order, also while new hits appear', async () => {
  await ada.post(`/projects/${engine}/batch`, { operations: operations(20, 'bolt') })
  for (const n of upTo(5)) await task(ada, engine, `Nut ${n}`, { description: 'for a bolt' })
  const all = (await search(ada, 'bolt')).map(({ id }) => id)
  expect(all).toHaveLength(25)
  const pages = await allPages(ada, '/search?q=bolt&limit=7')
  expect(pages.map(({ length }) => length)).toEqual([7, 7, 7, 4])
  expect(pages.flat().map(({ id }) => id)).toEqual(all)
  const first = await ada.get('/search?q=bolt&limit=7')
  await task(ada, engine, 'A new bolt')
  const rest = await allPages(ada, nextPath(first.headers)!)
  expect([...first.body, ...rest.flat()].map(({ id }) => id)).toEqual(all)
})

test('similar titles have pages too', async () => {
  const pages = await allPages(ada, '/search?q=boltz&limit=7')
  const all = (await search(ada, 'boltz')).map(({ id }) => id)
  expect(all.length).toBeGreaterThan(20)
  expect(pages.flat().map(({ id }) => id)).toEqual(all)
})

test('only the newest 200 hits are ranked, and lists of tasks contain all', async () => {
  const many = await project(ada, 'Many')
  const [oldest] = [await task(ada, many, 'gear')]
  for (const _ of upTo(3))
    await ada.post(`/projects/${many}/batch`, { operations: operations(80, 'gear wheel') })
  const hits = (await allPages(ada, `/search?q=gear&projectId=${many}&limit=90`)).flat()
  const listed = (await allPages(ada, `/tasks?q=gear&projectId=${many}&sort=-createdAt&limit=200`)).flat()
  expect(listed).toHaveLength(241)
  expect(listed.at(-1)?.id).toBe(oldest!)
  expect(hits.map(({ id }) => id)).toEqual(listed.slice(0, 200).map(({ id }) => id))
})
