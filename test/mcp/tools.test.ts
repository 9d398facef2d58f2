import { make, openScene, register, runBatch, versionOf, withService } from '../kit.ts'
import { internalError, outcomeUnknown } from '../../src/responses/errors.ts'
import { shownError } from '../../modules/mcp/server.ts'
import { connect, creates, expectError, maxAnswerCharacters } from './scene.ts'

const { service, ada } = await openScene(['Ada'])
const { call, pagesOf } = await connect(service, ada.token)
const engine = await make(ada, '/projects', { name: 'Engine' })
let count = 0
const newKey = () => `key ${++count}`
const newProject = (name = `Project ${++count}`) => make(ada, '/projects', { name })
const newTask = (projectId = engine.id, over: object = {}) =>
  make(ada, '/tasks', { projectId, title: 'Draw', ...over })

interface Answer {
  tasks: Record<string, unknown>[]
  [field: string]: unknown
}
const find = async (args: object) => (await call<Answer>('find', args)).body
const titles = async (project: string) => (await find({ project })).tasks.map(({ title }) => title)
const listed = (pages: Record<string, unknown>[], list: string) =>
  pages.flatMap((page) => (page[list] ?? []) as Record<string, unknown>[])
const numbered = (count: number, text: string) =>
  creates(...Array.from({ length: count }, (_, n) => `${text} ${n}`))

const texts = [
  ...['Draw the plate with all wheels ', '图纸与齿轮需要重新绘制', crypto.randomUUID(), '🜚🝆🜛'],
  ...['xq'.repeat(9), 'ѤѿҪѲ\ue123\uf8ff', 'YfGd'.repeat(9)],
]

test.each([
  ['createdAt', 'full'],
  ['-dueDate', 'preview'],
  ['position', 'lines'],
])(
  `pages of at most ${maxAnswerCharacters} characters contain every task once: %s, %s`,
  async (sort, fields) => {
    const { id } = await newProject()
    const operations = Array.from({ length: 150 }, (_, n) => {
      const text = texts[n % texts.length]!
      const description = text.repeat(Math.floor(((n * 7) % 40) ** 2 / 8)).slice(0, 2_000) || null
      return { op: 'task.create', title: `${n} ${text}`.trim(), description }
    })
    await runBatch(ada, id, operations)
    const pages = await pagesOf<Answer>('find', { project: id, fields, sort, text: ' ' })
    for (const { tasks } of pages) expect(tasks.length).toBeGreaterThan(0)
    const found = pages.flatMap(({ tasks }) => tasks.map(({ title }) => String(title)))
    const expected = operations.map(({ title }) => title)
    expect(sort === '-dueDate' ? found.reverse() : found).toEqual(expected)
  },
)

test('pages of a search contain each task once', async () => {
  const { id: project } = await newProject()
  await runBatch(ada, project, numbered(150, 'Number'))
  const pages = await pagesOf<Answer>('find', { project, text: 'number 14', limit: 4 })
  const found = listed(pages, 'tasks').map(({ number }) => number)
  expect(found).toEqual([15, ...Array.from({ length: 10 }, (_, n) => 141 + n)])
})

test('get shows all of a long description and of long comments, over several answers', async () => {
  const texts = [
    'The wheels need oil. '.repeat(950),
    '图纸"\n'.repeat(4_000),
    'xq'.repeat(10_000),
    '="'.repeat(5_000),
  ]
  const trimmed = texts.map((text) => text.trim())
  const long = await newTask(engine.id, { description: trimmed[0] })
  for (const text of trimmed) await make(ada, `/tasks/${long.id}/comments`, { text })
  const pages = await pagesOf<Record<string, unknown>>('get', { id: long.id })
  expect(pages.map(({ description = '' }) => description).join('')).toBe(trimmed[0]!)
  const byId = Map.groupBy(listed(pages, 'comments'), ({ id }) => id)
  const whole = [...byId.values()].map((parts) => parts.map(({ text }) => text).join(''))
  expect([whole, listed(pages, 'history').length]).toEqual([trimmed, 5])
})

test('answers with a task that has long texts have at most 20,000 characters', async () => {
  const { id } = await newProject()
  const keys = Array.from({ length: 10 }, (_, n) => `text_${n}`)
  for (const name of keys) await make(ada, `/projects/${id}/fields`, { key: name, name, type: 'text' })
  const fields = Object.fromEntries(keys.map((key) => [key, '漢字 wheel '.repeat(190)]))
  const long = { title: '漢'.repeat(500), description: '"漢字\u0001 '.repeat(2_500), fields }
  const { id: taskId } = await newTask(id, long)
  for (const [tool, args] of [
    ['claim_next', { project: id, leaseSeconds: 60 }],
    ['get', { id: taskId }],
    ['find', { project: id, fields: 'full' }],
  ] as const) {
    const { isError, text } = await call(tool, args)
    expect([tool, isError, text.length <= maxAnswerCharacters]).toEqual([tool, false, true])
  }
  const [preview] = (await find({ project: id, fields: 'preview' })).tasks
  expect(preview!.description).toMatch(/^"漢字[^]{50,200}…$/)
  const [full] = (await find({ project: id, fields: 'full' })).tasks
  expect(full).toMatchObject({ description: expect.stringMatching(/…$/) })
})

test('history shows the project of each event of a task', async () => {
  const boat = await newProject('Ship')
  const { id } = await newTask(engine.id)
  await ada.patch(`/tasks/${id}`, { projectId: boat.id })
  const { body } = await call<Record<string, unknown>>('history', { id })
  expect(listed([body], 'history').map(({ type, project }) => [type, project])).toEqual([
    ['task.moved_in', boat.id],
    ['task.moved_out', engine.id],
    ['task.created', engine.id],
  ])
})

test('pages of history and of changes contain every event once; changes waits for the next event', async () => {
  const { id: project } = await newProject()
  await runBatch(ada, project, numbered(190, '图纸'.repeat(60)))
  const past = listed(await pagesOf<Record<string, unknown>>('history', { project }), 'history')
  expect(past.map(({ seq }) => seq)).toEqual(Array.from({ length: 191 }, (_, n) => 191 - n))
  const pages = await pagesOf<Record<string, unknown>>('changes', { project, after: 1 })
  const seqs = listed(pages, 'changes').map(({ seq }) => seq)
  expect(seqs).toEqual(Array.from({ length: 190 }, (_, n) => n + 2))
  const { after } = pages.at(-1)!
  const waiting = call('changes', { project, after, wait: 25 })
  await newTask(project, { title: 'New' })
  const created = { seq: 192, type: 'task.created', row: { title: 'New' } }
  expect((await waiting).body).toMatchObject({ changes: [created], after: 192 })
})

test('applies and undoes 500 operations, and returns the ids in one answer', async () => {
  const { id: project } = await newProject()
  const operations = numbered(500, 'Tooth')
  const args = { project, key: newKey(), operations }
  const [{ ids, batch } = { ids: [] }] = await pagesOf<{ ids: string[]; batch?: number }>('apply', args)
  expect([new Set(ids).size, batch, await versionOf(ada, project)]).toEqual([500, 2, 501])
  const undone = await call('undo', { project, key: newKey(), batch: 2 })
  expect(undone.body).toMatchObject({ version: 1001, batch: 502, events: 500 })
  expect(await titles(project)).toEqual([])
})

test('claim_next waits for a ready task', async () => {
  const { id: project } = await newProject()
  const waiting = call('claim_next', { project, leaseSeconds: 60, wait: 25 })
  await newTask(project)
  expect((await waiting).body).toMatchObject({ task: { title: 'Draw' } })
})

test('the etag of the error of a text without ifMatch lets the same key succeed, and a long text is cut', async () => {
  const { id: strict } = await make(ada, '/projects', { name: 'Strict', textEdits: 'if-match' })
  const { id } = await newTask(strict, { description: 'A' })
  type Strict = { current?: { etag: string } }
  const onStrict = (operations: object[], key = newKey()) =>
    call<Strict>('apply', { project: strict, key, operations })
  const update = { op: 'task.update', id, title: 'Draw', description: 'C' }
  const answer = await onStrict([update], 'text')
  const ifMatch = answer.body.current?.etag
  expect((await onStrict([{ ...update, ifMatch }], 'text')).isError).toBeFalse()
  const append = { op: 'task.append', id, field: 'description', text: '"'.repeat(19_000) }
  expect((await onStrict([append])).isError).toBeFalse()
  const long = await onStrict([{ ...update, title: 'T'.repeat(500), description: '"'.repeat(20_000) }])
  expectError(long, { status: 428, do: 'read it with get' })
  expect(long.text.length).toBeLessThan(maxAnswerCharacters)
  expect(JSON.stringify(long.body.current)).toContain('…')
})

test('the error of an unknown outcome advises to repeat the call with its key, or to read first without a key', () => {
  const again = 'Send the same call again with the same key in 1 s'
  expect(shownError(outcomeUnknown(), { key: 'a' })).toMatchObject({ retryAfterSeconds: 1, do: again })
  expect(shownError(outcomeUnknown()).do).toContain('before you repeat')
  expect(shownError(internalError(), { key: 'a' }).do).toContain('same key')
})

test('the error of a limit contains the seconds to wait, and advises to use the same key', () =>
  withService({ WRITES_PER_MINUTE: '3' }, async (limited) => {
    const person = await register(limited.client)
    const { call } = await connect(limited, person.token)
    const { id } = await make(person, '/projects', { name: 'Engine' })
    const send = () => call('apply', { project: id, key: newKey(), operations: creates('One') })
    for (const _ of [1, 2]) expect((await send()).isError).toBe(false)
    const answer = await send()
    expectError(answer, { status: 429, do: 'same key in' })
    expect(answer.body.retryAfterSeconds).toBeGreaterThan(0)
  }))
