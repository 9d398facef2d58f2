import { allPages, expectError, make, makeProjects, nextPath, openScene, register } from '../kit.ts'
import { remainingBudget, upTo, withService } from '../kit.ts'
import { testSessions } from '../support/http-sessions.ts'
import { createMany, get, marked, pagesOf, search, searchIds, task } from './scene.ts'

const { client, ada } = await openScene(['Ada'])
const { id: engine } = await make(ada, '/projects', { name: 'Engine' })

/** Characters that a reader could not see in a session are written as `\u` and their codes. */
const escaped = (text: string) =>
  text.replace(
    /[\u00ad\u0301\u1100-\u11ff\u200d]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
const unescaped = (text: string) =>
  text.replace(/\\u(\w{4})/g, (_, code) => String.fromCharCode(parseInt(code, 16)))

// Each section has a project with a task. `text` sets the description of the task; `find` and `list` print what a query finds.
testSessions('test/search/sessions', async () => {
  const owner = await register(client)
  const { id: project } = await make(owner, '/projects', {
    name: 'Engine',
    description: 'The analytical machine',
  })
  const own = await task(owner, project, 'Title')
  const commands = {
    text: async (text: string) => void (await owner.patch(`/tasks/${own}`, { description: unescaped(text) })),
    async find(q: string) {
      const hits = await search(owner, unescaped(q))
      return escaped(
        hits.map((one) => `${one.type} ${marked(one)}${one.fuzzy ? ' (similar)' : ''}`).join('\n'),
      )
    },
    async list(words: string) {
      const [q = '', parameters] = words.split(/ &(?=\w+=)/)
      const more = { projectId: project, ...Object.fromEntries(new URLSearchParams(parameters)) }
      return (await pagesOf(owner, '/tasks', q, more))
        .flat()
        .map(({ title }) => title)
        .join(', ')
    },
  }
  return { client: owner, values: { project, task: own }, commands }
})

const filler = 'lorem ipsum '.repeat(40)
const numbered = upTo(100).map((n) => `wheel${n}`)
const longTexts: [text: string, q: string, shown: RegExp][] = [
  [
    `${filler}the plate is in ink ${filler}ink ${filler}`,
    'plate ink',
    /^…(lorem|ipsum) .* the \[plate\] is in \[ink\] lorem .*…$/,
  ],
  [numbered.join(' '), 'wheel', /^\[wheel1\] \[wheel2\] /],
  [numbered.join(' '), '"wheel100"', /^…wheel\d+ .* \[wheel100\]$/],
  [`${'x'.repeat(300)} needle`, 'needle', /\[needle\]$/],
  [`${'ink '.repeat(4_900)}needle`, 'needle', /ink \[needle\]$/],
  // A word is cut at 200 characters.
  ['y'.repeat(250), `"${'y'.repeat(200)}"`, /^\[yyy/],
]

test('shows the part of a long text that begins shortly before the first word', async () => {
  const id = await task(ada, engine, 'Title')
  for (const [description, q, expected] of longTexts) {
    await ada.patch(`/tasks/${id}`, { description })
    const [hit] = await search(ada, q)
    expect([q, marked(hit!)]).toEqual([q, expect.stringMatching(expected)])
    expect(hit!.snippet.text.length).toBeLessThanOrEqual(200)
  }
})

test('pages contain every hit or similar title once and in order, also while new hits appear', async () => {
  await createMany(ada, engine, 20, 'bolt')
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
  expect(idsOf([[...first.body], ...(await allPages(ada, nextPath(first.headers)!))])).toEqual(all)
})

test('only the newest 200 hits are ranked, and lists of tasks contain all', async () => {
  const [many = ''] = await makeProjects(ada, 1)
  const oldest = await task(ada, many, 'gear')
  await createMany(ada, many, 240, 'gear wheel')
  const sorted = { projectId: many, sort: '-createdAt', limit: '200' }
  const listed = (await pagesOf(ada, '/tasks', 'gear', sorted)).flat().map(({ id }) => id)
  expect([listed.length, listed.at(-1)]).toEqual([241, oldest])
  expect(await searchIds(ada, 'gear', { projectId: many, limit: '90' })).toEqual(listed.slice(0, 200))
})

const many = (count: number) => upTo(count).join(' ')

test('accepts every text of at most 1,000 characters with at most 32 words', async () => {
  for (const path of ['/search', '/tasks']) {
    for (const q of [many(32), 'x'.repeat(1_000), `  ${'x'.repeat(1_000)}  `])
      expect(await get(ada, path, q)).toMatchObject({ status: 200, body: [] })
    for (const q of ['x'.repeat(1_001), 'x'.repeat(15_000)])
      expectError(await get(ada, path, q), 400, 'q must be a text of 1 to 1000 characters')
    for (const q of [many(33), `${many(32)} -x`])
      expectError(await get(ada, path, q), 400, /^q must have at most 32 words/)
  }
})

test('only the q of a search may be longer than a URL', async () => {
  const long = 'x'.repeat(15_000)
  for (const path of ['/projects?q=', `/projects/${engine}/views?q=`, '/projects?q=x&cursor='])
    expectError(await ada.get(path + long), 414)
})

test('a search counts as one read, and as one more for every 100 projects', () =>
  withService({ READS_PER_MINUTE: '40' }, async ({ client }) => {
    const bob = await register(client)
    expect(remainingBudget(await get(bob, '/search', 'x'))).toBe(39)
    await makeProjects(bob, 100)
    expect(remainingBudget(await get(bob, '/search', 'x'))).toBe(37)
    expect(remainingBudget(await get(bob, '/tasks', 'x'))).toBe(35)
  }))
