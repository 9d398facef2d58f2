import { invite, make, openScene } from '../kit.ts'
import { connect, maxAnswerCharacters } from './mcp-client.ts'

const { service, ada, bea } = await openScene(['Ada', 'Bea'])
const { call, pagesOf } = await connect(service, ada.token)
const engine = await make(ada, '/projects', { name: 'Engine' })
await invite(ada, engine.id, bea)
const brass = await make(ada, `/projects/${engine.id}/labels`, { name: 'Brass' })
const plate = await make(ada, '/tasks', {
  ...{ projectId: engine.id, title: 'Draw the plate', description: 'In ink, with all wheels' },
  ...{ priority: 'HIGH', assigneeId: bea.id, labelIds: [brass.id], dueDate: '2031-05-01T00:00:00.000Z' },
})
const wheels = await make(ada, '/tasks', { projectId: engine.id, title: 'Oil the wheels' })

interface Answer {
  tasks: Record<string, unknown>[]
  version?: number
}
const find = async (args: object) => (await call<Answer>('find', args)).body
const titles = async (args: object) => (await find(args)).tasks.map(({ title }) => title)

test('shows tasks in lines, with names in place of ids', async () => {
  expect(await find({ project: 'engine' })).toEqual({
    tasks: [
      {
        ...{ id: plate.id, title: 'Draw the plate', number: 1, status: 'TODO', priority: 'HIGH' },
        ...{ dueDate: '2031-05-01T00:00:00.000Z', assignee: 'Bea', labels: ['Brass'] },
      },
      { id: wheels.id, title: 'Oil the wheels', number: 2, status: 'TODO', priority: 'MEDIUM' },
    ],
    version: 5,
  })
})

test('counts tasks by a field, with names in place of ids', async () => {
  const counted = async (args: object) => (await call('find', { project: 'Engine', ...args })).body
  expect(await counted({ counts: 'status', text: 'wheels' })).toEqual({
    ...{ version: 5, total: 2, isExact: true },
    counts: [
      { value: 'TODO', count: 2 },
      { value: 'IN_PROGRESS', count: 0 },
      { value: 'DONE', count: 0 },
    ],
  })
  const values = [{ count: 1 }, { value: null, count: 1 }]
  expect(await counted({ counts: 'assigneeId' })).toMatchObject({ counts: [{ value: 'Bea' }, {}], total: 2 })
  expect(await counted({ counts: 'labelId' })).toMatchObject({ counts: values, total: 2 })
  expect(await counted({ counts: 'none', labels: ['Brass'] })).toMatchObject({ counts: [], total: 1 })
  for (const [args, error] of [
    [{ counts: 'status', limit: 5 }, /^limit is not known here/],
    [{ counts: 'title' }, /^counts must be one of status/],
    [{ counts: 'status', project: undefined }, /^projectId is required/],
  ] as const)
    expect(await counted(args)).toMatchObject({ status: 400, error: expect.stringMatching(error) })
})

test('filters by names, emails and words', async () => {
  const project = engine.id
  for (const filter of [
    { assigneeId: 'bea' },
    { assigneeId: bea.email },
    { labels: ['brass'] },
    { anyLabel: [brass.id] },
    { text: 'INK wheels' },
    { priority: 'HIGH', dueBefore: '2031-06-01' },
  ])
    expect([filter, await titles({ project, ...filter })]).toEqual([filter, ['Draw the plate']])
  expect(await titles({ project, text: 'wheels', noLabel: true, ready: true })).toEqual(['Oil the wheels'])
  expect(await titles({ project, noLabel: false, ready: false })).toHaveLength(2)
  expect(await titles({ project, text: 'wheels steam' })).toEqual([])
})

test('filters by claims, also by the name of the holder', async () => {
  const claimed = await make(bea, '/projects', { name: 'Claims' })
  for (const title of ['One', 'Two']) await make(bea, '/tasks', { projectId: claimed.id, title })
  const asBea = await connect(service, bea.token)
  await asBea.call('claim_next', { project: claimed.id, leaseSeconds: 60 })
  const found = async (claimedBy: string) => {
    const { body } = await asBea.call<Answer>('find', { project: claimed.id, claimedBy })
    return body.tasks.map(({ title }) => title)
  }
  expect([await found('bea'), await found('me'), await found('none')]).toEqual([['One'], ['One'], ['Two']])
})

test('filters by custom fields', async () => {
  await make(ada, `/projects/${engine.id}/fields`, { key: 'hours', name: 'Hours', type: 'number' })
  await ada.patch(`/tasks/${wheels.id}`, { fields: { hours: 3 } })
  await make(ada, `/projects/${engine.id}/fields`, { key: 'note', name: 'Note', type: 'text' })
  await ada.patch(`/tasks/${plate.id}`, { fields: { note: 'a=b' } })
  const found = (where: unknown) => titles({ project: engine.id, where })
  for (const where of [['hours.min=2'], ['hours=3', 'hours.max=3'], { 'hours.min': 2 }, { hours: '3' }])
    expect([where, await found(where)]).toEqual([where, ['Oil the wheels']])
  expect(await found(['note=a=b'])).toEqual(['Draw the plate'])
  for (const where of [['hours'], ['=3'], [''], [['hours=3']]]) {
    const { body } = await call('find', { project: engine.id, where })
    expect(body).toMatchObject({
      status: 400,
      error: expect.stringMatching(/^where must be a list of texts/),
    })
  }
  const { body } = await call('find', { project: engine.id, where: ['hours=3', 'hours=2'] })
  expect(body).toMatchObject({ status: 400, error: 'where must have each key once, but has hours twice' })
})

test('without project, shows the project of each task', async () => {
  const other = await make(ada, '/projects', { name: 'Boat' })
  await make(ada, '/tasks', { projectId: other.id, title: 'Paint' })
  const { tasks, version } = await find({})
  expect(version).toBeUndefined()
  expect(tasks.map(({ title, project }) => [title, project])).toEqual([
    ['Draw the plate', 'Engine'],
    ['Oil the wheels', 'Engine'],
    ['Paint', 'Boat'],
  ])
})

test('preview and full show more of a task', async () => {
  const description = 'long '.repeat(3_000)
  const { id } = await make(ada, '/projects', { name: 'Long' })
  await make(ada, '/tasks', { projectId: id, title: 'T', description })
  const [preview] = (await find({ project: id, fields: 'preview' })).tasks
  expect(preview!.description).toBe(`${description.slice(0, 200)}…`)
  const [full] = (await find({ project: id, fields: 'full' })).tasks
  expect(full).toMatchObject({
    assigneeId: null,
    labelIds: [],
    description: expect.stringMatching(/^long .*…$/),
  })
})

const texts = [
  'Draw the plate with all wheels ',
  '图纸与齿轮需要重新绘制',
  crypto.randomUUID(),
  '🜚🝆🜛',
  'xq'.repeat(9),
  'ѤѿҪѲ\ue123\uf8ff',
  'YfGd'.repeat(9),
]

for (const [sort, fields] of [
  ['createdAt', 'full'],
  ['-dueDate', 'preview'],
  ['position', 'lines'],
] as const)
  test(`pages of at most ${maxAnswerCharacters} characters contain every task once: ${sort}, ${fields}`, async () => {
    const { id } = await make(ada, '/projects', { name: `${sort} ${fields}` })
    const operations = Array.from({ length: 150 }, (_, n) => {
      const text = texts[n % texts.length]!
      const size = Math.floor(((n * 7) % 40) ** 2 / 8)
      return {
        op: 'task.create',
        title: `${n} ${text}`,
        description: text.repeat(size).slice(0, 2_000) || null,
      }
    })
    expect((await ada.post(`/projects/${id}/batch`, { operations })).status).toBe(200)
    const pages = await pagesOf<Answer>('find', { project: id, fields, sort, text: ' ' })
    for (const { tasks } of pages) expect(tasks.length).toBeGreaterThan(0)
    const found = pages.flatMap(({ tasks }) => tasks.map(({ title }) => String(title)))
    const expected = operations.map(({ title }) => title.trim())
    expect(sort === '-dueDate' ? found.reverse() : found).toEqual(expected)
  })

test('words select tasks by titles, descriptions, subtasks and comments, and pages contain each task once', async () => {
  const { id: project } = await make(ada, '/projects', { name: 'Many' })
  const operations = Array.from({ length: 150 }, (_, n) => ({ op: 'task.create', title: `Number ${n}` }))
  await ada.post(`/projects/${project}/batch`, { operations })
  const cast = await make(ada, '/tasks', { projectId: project, title: 'Cast', description: 'In brass' })
  await make(ada, `/tasks/${cast.id}/subtasks`, { title: 'Measure the axis' })
  await make(ada, `/tasks/${cast.id}/comments`, { text: 'Not in iron' })
  for (const text of ['brass', 'MEASURE', '"the axis"', 'brass iron ax', '#151', cast.id])
    expect([text, await titles({ project, text })]).toEqual([text, ['Cast']])
  expect(await titles({ project, text: 'cast -iron' })).toEqual([])
  expect(await titles({ project, text: '"number 14"' })).toEqual(['Number 14'])
  const pages = await pagesOf<Answer>('find', { project, text: 'number 14', limit: 4 })
  const found = pages.flatMap(({ tasks }) => tasks.map(({ number }) => number))
  expect(found).toEqual([15, ...Array.from({ length: 10 }, (_, n) => 141 + n)])
})

test('a text with too many words gets the advice to correct it', async () => {
  const words = Array.from({ length: 33 }, (_, n) => `w${n}`)
  const { isError, body } = await call('find', { text: words.join(' ') })
  expect([isError, body]).toMatchObject([true, { status: 400, do: 'Correct the arguments, then call again' }])
})
