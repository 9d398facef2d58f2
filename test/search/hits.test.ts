import { allPages, make, nextPath, openScene, register, upTo } from '../kit.ts'
import { comment, get, matchedIn, pagesOf, project, search, searchIds, task, titlesOf } from './scene.ts'

const { client, ada } = await openScene(['Ada'])
const engine = await project(ada, 'Engine', 'The analytical machine')
const oil = await task(ada, engine, 'Oil the wheels', {
  description: 'Use the thin oil, not the grease.',
  priority: 'HIGH',
})
const draw = await task(ada, engine, 'Draw the plate', { description: 'As drawn by Zoë in Łódź.' })
const remark = await comment(ada, draw, 'The plate needs oil before it is cut')

test('a hit shows the task, the comment or the project', async () => {
  expect(await search(ada, 'grease')).toEqual([
    {
      ...{ type: 'task', id: oil, projectId: engine, taskId: oil, title: 'Oil the wheels' },
      snippet: { text: 'Use the thin oil, not the grease.', matches: [[26, 32]] },
    },
  ])
  const [ofComment] = await search(ada, 'before cut')
  expect(ofComment).toMatchObject({ type: 'comment', id: remark, taskId: draw, title: 'Draw the plate' })
  expect(ofComment && matchedIn(ofComment)).toEqual(['before', 'cut'])
  const ofProject = { type: 'project', id: engine, projectId: engine, taskId: null, title: 'Engine' } as const
  expect(await search(ada, 'analytical')).toMatchObject([ofProject])
})

test('the id and the external id of a row find it, also without a word; an excluded word alone finds nothing', async () => {
  const id = await task(ada, engine, 'Cast', { externalId: 'JIRA-42/x' })
  for (const q of [id, id.toUpperCase(), ' JIRA-42/x ', remark, engine])
    expect([q, (await search(ada, q))[0]?.id]).toEqual([q, q === remark || q === engine ? q : id])
  const stranger = await register(client)
  for (const q of [id, remark, engine, 'JIRA-42/x']) expect(await searchIds(stranger, q)).toEqual([])
  for (const externalId of ['-12', '***', '-wheels']) {
    const id = await task(ada, engine, 'Cast', { externalId })
    expect(await search(ada, externalId)).toMatchObject([{ id, snippet: { text: 'Cast', matches: [] } }])
    expect((await get(ada, '/tasks', externalId)).body).toMatchObject([{ id }])
    expect(await search(ada, `${externalId} -x`)).toEqual([])
    expect(titlesOf((await get(ada, '/tasks', `${externalId} -x`)).body)).toEqual([])
  }
})

test('the number of a task finds it, also with zeros before it, and can be excluded', async () => {
  for (const q of ['#1', '#01', 'wheels #001']) expect(await searchIds(ada, q)).toEqual([oil])
  expect(await searchIds(ada, 'grease -#01')).toEqual([])
})

test('without a hit, similar titles are offered, which similar words of other projects do not hide', async () => {
  const stranger = await register(client)
  await task(stranger, await project(stranger), 'wheals wheala whealb whealc wheald')
  expect(titlesOf(await search(stranger, 'wheals'))).toHaveLength(1)
  expect((await search(ada, 'wheals')).map(matchedIn)).toEqual([['wheels']])
  const [hit, ...others] = await search(ada, 'enigne wheals')
  expect(hit).toMatchObject({ id: oil, fuzzy: true })
  expect(hit && matchedIn(hit)).toEqual(['wheels'])
  expect(others.every(({ fuzzy }) => fuzzy)).toBe(true)
  expect((await search(ada, 'wheels'))[0]?.fuzzy).toBeUndefined()
  expect(await search(ada, 'wheals', { types: 'comment' })).toEqual([])
  expect(await search(ada, 'wheals -oil')).toEqual([])
})

async function createMany(projectId: string, count: number, title: string): Promise<void> {
  const operations = upTo(count).map((n) => ({ op: 'task.create', title: `${title} ${n}` }))
  expect((await ada.post(`/projects/${projectId}/batch`, { operations })).status).toBe(200)
}

test('pages contain every hit or similar title once and in order, also while new hits appear', async () => {
  await createMany(engine, 20, 'bolt')
  for (const n of upTo(5)) await task(ada, engine, `Nut ${n}`, { description: 'for a bolt' })
  const idsOf = (pages: object[][]) => (pages.flat() as { id: string }[]).map(({ id }) => id)
  const lengths: Record<string, number[]> = { bolt: [7, 7, 7, 4], boltz: [7, 7, 6] }
  for (const q in lengths) {
    const pages = await pagesOf(ada, '/search', q, { limit: '7' })
    expect(pages.map(({ length }) => length)).toEqual(lengths[q]!)
    expect(idsOf(pages)).toEqual(idsOf([await search(ada, q)]))
  }
  const all = await searchIds(ada, 'bolt')
  const first = await get(ada, '/search', 'bolt', { limit: '7' })
  await task(ada, engine, 'A new bolt')
  const rest = await allPages(ada, nextPath(first.headers)!)
  expect(idsOf([[...first.body], ...rest])).toEqual(all)
})

test('only the newest 200 hits are ranked, and lists of tasks contain all', async () => {
  const many = await project(ada, 'Many')
  const oldest = await task(ada, many, 'gear')
  for (const _ of upTo(3)) await createMany(many, 80, 'gear wheel')
  const hits = await searchIds(ada, 'gear', { projectId: many, limit: '90' })
  const sorted = { projectId: many, sort: '-createdAt', limit: '200' }
  const listed = (await pagesOf(ada, '/tasks', 'gear', sorted)).flat().map(({ id }) => id)
  expect(listed).toHaveLength(241)
  expect(listed.at(-1)).toBe(oldest)
  expect(hits).toEqual(listed.slice(0, 200))
})

test('q combines with the filters and the order of a list, and a view can contain q', async () => {
  await task(ada, engine, 'Draw the wheels', { externalId: 'X-1' })
  const both = ['Oil the wheels', 'Draw the wheels']
  const lists: [object, string[]][] = [
    [{ priority: 'HIGH' }, ['Oil the wheels']],
    [{ sort: '-createdAt' }, both.toReversed()],
    [{ sort: 'position' }, both],
    [{ limit: '1' }, both],
  ]
  for (const [more, titles] of lists) {
    const pages = await pagesOf(ada, '/tasks', '"the wheels"', { projectId: engine, ...more })
    expect(titlesOf(pages.flat())).toEqual(titles)
  }
  const views = `/projects/${engine}/views`
  const { id } = await make(ada, views, { name: 'Wheels', query: { q: 'wheels thin' } })
  const answer = await ada.get(`/views/${id}/tasks`)
  expect(titlesOf(answer.body)).toEqual(['Oil the wheels'])
  expect(answer.headers.get('docket-indexed')).toBe('all')
  const { status, body } = await ada.post(views, { name: 'None', query: { q: ' ' } })
  expect([status, body.message]).toEqual([400, 'query.q must be a text of 1 to 1000 characters'])
})
