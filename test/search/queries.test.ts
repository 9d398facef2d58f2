import { allPages, expectError, make, makeProjects, nextPath, openScene, register } from '../kit.ts'
import { remainingBudget, unknownId, upTo, withService } from '../kit.ts'
import { createMany, get, type Hit, marked, pagesOf, search, searchIds, task } from './scene.ts'

const { ada, bea } = await openScene(['Ada', 'Bea'])
const { id: engine } = await make(ada, '/projects', { name: 'Engine', description: 'The analytical machine' })
const description = 'Use the thin oil, not the grease.'
const oil = await task(ada, engine, 'Oil the wheels', { description, priority: 'HIGH' })
const draw = await task(ada, engine, 'Draw the plate', { description: 'As drawn by Zoë in Łódź.' })
const { id: remark } = await make(ada, `/tasks/${draw}/comments`, {
  text: 'The plate needs oil before it is cut',
})

const [words = ''] = await makeProjects(bea, 1)

/** Creates a task with this description, and returns its marked snippet in the hits of `q`. */
async function markedIn(description: string, q: string): Promise<string | undefined> {
  const id = await task(bea, words, 'Title', { description })
  const hit = (await search(bea, q, { types: 'task' })).find((one: Hit) => one.id === id && !one.fuzzy)
  return hit && marked(hit)
}

const inTexts = [
  ['Draw the plates in ink', 'plate', 'Draw the [plates] in ink'],
  ['Draw the plates in ink', 'draw ink', '[Draw] the plates in [ink]'],
  ['the plate, the plate', '"the plate"', '[the plate], [the plate]'],
  ['a a a b', '"a a"', '[a a a] b'],
  ['a a a b', '"a a b"', 'a [a a b]'],
  ['foo-bar_baz.v2', 'v baz', undefined],
  ['foo-bar_baz.v2', '"foo-bar" v2', '[foo-bar]_baz.[v2]'],
  ['it’s мʼята', "it's мʼята", '[it]’[s] [м]ʼ[ята]'],
  ['Café, e\u0301te\u0301!', 'ETE cafe', '[Café], [e\u0301te\u0301]!'],
  ['Straße Ærø Łódź', 'strasse aero lodz', '[Straße] [Ærø] [Łódź]'],
  ['ﬁnal İstanbul ΟΔΟΣ', 'final istanbul οδος', '[ﬁnal] [İstanbul] [ΟΔΟΣ]'],
  ['ＷＩＤＥ m² ½ Ⅷ ٤٢', 'wide m2 viii 42', '[ＷＩＤＥ] [m²] ½ [Ⅷ] [٤٢]'],
  ['soft\u00adhyphen c\u200dd', 'softhyphen cd', '[soft\u00adhyphen] [c\u200dd]'],
  ['दिल', 'दल', undefined],
  ['شَمْس كـتاب', 'شمس كتاب', '[شَمْس] [كـتاب]'],
  ['東京都庁へ', '京都', '東[京都]庁へ'],
  ['東京都庁へ', '京', '東[京]都庁へ'],
  ['東京都庁へ', '都庁へ', '東京[都庁へ]'],
  ['東京都庁へ', '庁都', undefined],
  ['東京都庁へ', 'へ', '東京都庁[へ]'],
  ['ｶﾞｲﾄﾞ', 'カ', '[ｶﾞ]ｲﾄﾞ'],
  ['𠮷野家𠮷', '𠮷', '[𠮷]野家[𠮷]'],
  ['a 東京', '"a 東"', '[a 東]京'],
  ['㍿東京', '株式会', '[㍿]東京'],
  ['\u1112\u1161\u11ab\u1100\u116e\u11a8', '한국', '[\u1112\u1161\u11ab\u1100\u116e\u11a8]'],
  // A phrase does not cross the end of a title.
  ['begins here', '"title begins"', undefined],
] as const

test('finds the words of all scripts, and marks them', async () => {
  for (const [text, q, expected] of inTexts)
    expect([text, q, await markedIn(text, q)]).toEqual([text, q, expected])
}, 120_000)

const filler = 'lorem ipsum '.repeat(40)
const numbered = upTo(100).map((n) => `wheel${n}`)
const inLongTexts = [
  [
    `${filler}plate ${filler}ink ${filler}the plate is in ink ${filler}ink ${filler}`,
    'plate ink',
    /^…(lorem|ipsum) .* the \[plate\] is in \[ink\] .* (lorem|ipsum)…$/,
  ],
  [numbered.join(' '), 'wheel', /^\[wheel1\] \[wheel2\] /],
  [numbered.join(' '), '"wheel100"', /^…wheel\d+ .* \[wheel100\]$/],
  [`${'x'.repeat(300)} needle`, 'needle', /\[needle\]$/],
  [`${'ink '.repeat(4_900)}needle`, 'needle', /ink \[needle\]$/],
  // A word is cut at 200 characters.
  ['y'.repeat(250), `"${'y'.repeat(200)}"`, /^\[yyy/],
] as const

test('shows a part of a long text with all words, between whole words', async () => {
  for (const [text, q, expected] of inLongTexts) {
    const shown = await markedIn(text, q)
    expect([q, shown]).toEqual([q, expect.stringMatching(expected)])
    expect(shown!.replace(/[[\]]/g, '').length).toBeLessThanOrEqual(200)
  }
})

test('a hit shows the task, the comment or the project', async () => {
  const ofTask = { type: 'task', id: oil, projectId: engine, taskId: oil, title: 'Oil the wheels' } as const
  const ofComment = { ...ofTask, type: 'comment', id: remark, taskId: draw, title: 'Draw the plate' } as const
  const ofProject = { ...ofTask, type: 'project', id: engine, taskId: null, title: 'Engine' } as const
  expect(await search(ada, 'grease')).toEqual([
    { ...ofTask, snippet: { text: description, matches: [[26, 32]] } },
  ])
  const texts = {
    type: 'comment',
    snippet: {
      text: 'The plate needs oil before it is cut',
      matches: [
        [20, 26],
        [33, 36],
      ],
    },
  }
  expect(await search(ada, 'before cut')).toEqual([{ ...ofComment, ...texts } as Hit])
  expect(await search(ada, 'analytical')).toMatchObject([ofProject])
})

test('an id, an external id or a number finds its row, also without a word; an excluded word alone finds nothing', async () => {
  const id = await task(ada, engine, 'Cast', { externalId: 'JIRA-42/x' })
  const rows: [q: string, first: string][] = [
    [id, id],
    [id.toUpperCase(), id],
    [' JIRA-42/x ', id],
    [remark, remark],
    [engine, engine],
    ...['#1', '#01', 'wheels #001'].map((q): [string, string] => [q, oil]),
  ]
  for (const [q, first] of rows) expect([q, (await searchIds(ada, q))[0]]).toEqual([q, first])
  expect((await get(ada, '/tasks', 'JIRA-42/x')).body).toMatchObject([{ id }])
  expect(await searchIds(ada, 'grease -#01')).toEqual([])
  for (const externalId of ['-12', '***', '-wheels']) {
    const id = await task(ada, engine, 'Cast', { externalId })
    expect(await search(ada, externalId)).toMatchObject([{ id, snippet: { text: 'Cast', matches: [] } }])
    expect((await get(ada, '/tasks', externalId)).body).toMatchObject([{ id }])
    for (const path of ['/search', '/tasks'])
      expect((await get(ada, path, `${externalId} -x`)).body).toEqual([] as never)
  }
})

test('without a hit, similar titles are offered, which similar words of other projects do not hide', async () => {
  await task(bea, words, 'wheals wheala whealb whealc wheald')
  expect(await search(ada, 'wheals')).toMatchObject([{ id: oil, fuzzy: true }])
  expect((await search(ada, 'enigne wheals')).map(marked)).toEqual(['Oil the [wheels]'])
  // The snippet is the title, also if the description has the similar word.
  await task(ada, engine, 'Grind the spindle', { description: 'The spindle turns' })
  expect((await search(ada, 'spindel')).map(marked)).toEqual(['Grind the [spindle]'])
  for (const [q, types] of [
    ['wheals', 'comment'],
    ['wheals -oil', 'task'],
  ] as const)
    expect(await search(ada, q, { types })).toEqual([])
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

test('q combines with the filters and the order of a list, and a view can contain q', async () => {
  const other = await task(ada, engine, 'Draw the wheels')
  const lists: [object, string[]][] = [
    [{ priority: 'HIGH' }, [oil]],
    [{ sort: '-createdAt' }, [other, oil]],
    [{ sort: 'position', limit: '1' }, [oil, other]],
  ]
  for (const [more, ids] of lists) {
    const pages = await pagesOf(ada, '/tasks', '"the wheels"', { projectId: engine, ...more })
    expect(pages.flat().map(({ id }) => id)).toEqual(ids)
  }
  const views = `/projects/${engine}/views`
  const { id } = await make(ada, views, { name: 'Wheels', query: { q: 'wheels thin' } })
  const { body, headers } = await ada.get(`/views/${id}/tasks`)
  expect([headers.get('docket-indexed'), body]).toMatchObject(['all', [{ id: oil }]])
  const none = await ada.post(views, { name: 'None', query: { q: ' ' } })
  expectError(none, 400, 'query.q must be a text of 1 to 1000 characters')
})

const badText = 'q must be a text of 1 to 1000 characters'
const many = (count: number) => upTo(count).join(' ')

test('rejects other parameters, and accepts every text of 1 to 1,000 characters with at most 32 words', async () => {
  for (const path of ['/search', '/tasks']) {
    const rejects = async (status: number, message: string | RegExp, all: string[], parameters = '') => {
      for (const q of all)
        expectError(await ada.get(`${path}?q=${encodeURIComponent(q)}${parameters}`), status, message)
    }
    await rejects(400, badText, ['', '  ', 'x'.repeat(1_001), 'x'.repeat(15_000)])
    await rejects(400, `${badText}, but contains U+0000`, ['a\0b'])
    await rejects(400, /^q must have at most 32 words/, [many(33), `${many(32)} -x`])
    for (const id of [unknownId, 'x']) await rejects(404, 'Project not found', ['oil'], `&projectId=${id}`)
    for (const one of ['limit=0', 'limit=201', 'cursor=x', 'x=1', 'q=again'])
      await rejects(400, /./, ['oil'], `&${one}`)
    const long = [many(32), 'x'.repeat(1_000), `  ${'x'.repeat(1_000)}  `]
    for (const q of ['-oil', '"', '--', '😀', '-"oil', ...long])
      expect([q, await get(ada, path, q)]).toMatchObject([q, { status: 200, body: [] }])
  }
  expectError(await ada.get('/search'), 400, /^q is required: a text of 1 to 1000 characters/)
  const wrongTypes = /^types must be a list of task, comment, project/
  for (const types of ['', 'task,', 'subtask'])
    expectError(await get(ada, '/search', 'oil', { types }), 400, wrongTypes)
  expectError(await get(ada, '/search', 'oil', { asOf: '1' }), 400, 'asOf is not known here')
  const past = await get(ada, '/tasks', 'oil', { projectId: engine, asOf: '1' })
  expectError(past, 400, 'q cannot be combined with asOf')
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
