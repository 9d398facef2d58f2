import { invite, register } from '../kit.ts'
import { openCliScene } from './scene.ts'

const { run, json, ada, service, docket } = await openCliScene()
const engine = await json(['projects', '--create', 'Engine'])
const inEngine = { env: { DOCKET_PROJECT: 'Engine' } }
const titles = (rows: { title: string }[]) => rows.map(({ title }) => title)

test('adds, lists and edits tasks and sets them to DONE, by number and by id', async () => {
  const added = await run(['add', 'Draw the plate', '--priority', 'high', '--due', '2031-05-01'], inEngine)
  expect(added.out).toMatch(/^Added #1 Draw the plate \([0-9a-f-]{36}\)\n$/)
  const oil = await json([
    'add',
    'Oil',
    '--status',
    'in-progress',
    '--assignee',
    'me',
    '--project',
    engine.id,
  ])
  expect([oil.number, oil.status, oil.assigneeId]).toEqual([2, 'IN_PROGRESS', ada.id])
  expect((await run(['tasks', '-p', 'Engine'])).out).toBe(
    `#  STATUS       PRIORITY  DUE         ASSIGNEE  TITLE
1  TODO         HIGH      2031-05-01            Draw the plate
2  IN_PROGRESS  MEDIUM                Ada       Oil
`,
  )
  expect((await run(['edit', '#1', '--title', 'Draw', '--due', ''], inEngine)).out).toBe('Changed #1 Draw\n')
  expect((await run(['done', oil.id])).out).toBe('Done #2 Oil\n')
  expect(titles(await json(['tasks', '--status', 'done'], inEngine))).toEqual(['Oil'])
  expect((await json(['tasks', '--sort', '-createdAt', '--limit', '1'], inEngine))[0].number).toBe(2)
  const { text } = await json(['comment', '1', '-'], { ...inEngine, input: 'In brass,\nplease.' })
  expect(text).toBe('In brass,\nplease.')
})

test('finds labels, users and blockers by name, and clears fields', async () => {
  const grace = await register(service.client, 'Grace')
  await invite(ada, engine.id, grace, 'EDITOR')
  for (const name of ['bug', 'Urgent']) await docket.labels.create({ projectId: engine.id, name })
  await docket.fields.create({ projectId: engine.id, key: 'estimate', name: 'Hours', type: 'number' })
  const options = ['--labels', 'bug,urgent', '--assignee', grace.email, '--fields', 'estimate=3']
  const cast = await json(['add', 'Cast', ...options, '--blocked-by', '1', '--external-id', 'J-1'], inEngine)
  expect([cast.labelIds.length, cast.assigneeId, cast.fields]).toEqual([2, grace.id, { estimate: 3 }])
  expect(cast.blockedByIds).toHaveLength(1)
  const listed = async (...line: string[]) => titles(await json(['tasks', ...line], inEngine))
  expect(await listed('--labels', 'BUG,urgent')).toEqual(['Cast'])
  expect(await listed('--unlabelled')).toEqual(['Draw', 'Oil'])
  expect(await listed('--assignee', 'Grace', 'field.estimate.min=2')).toEqual(['Cast'])
  expect(await listed('--ready')).toEqual(['Draw'])
  expect(await listed('--blocked-by', '1')).toEqual(['Cast'])
  const line = ['edit', 'x', '--remove-labels', 'bug', '--assignee', '', '--fields', 'estimate=']
  line[1] = cast.id
  const { labelIds, assigneeId, fields, blockedByIds } = await json(
    [...line, '--remove-blocked-by', '#1'],
    inEngine,
  )
  expect([labelIds.length, assigneeId, fields, blockedByIds]).toEqual([1, null, {}, []])
})

test('counts the tasks of a project by a field, with the names of people and labels', async () => {
  const { id: projectId } = await json(['projects', '--create', 'Counted'])
  const { id: bug } = await docket.labels.create({ projectId, name: 'bug' })
  const tasks = [{ labelIds: [bug], assigneeId: ada.id }, { labelIds: [bug] }, { status: 'DONE' as const }]
  for (const one of tasks) await docket.tasks.create({ projectId, title: 'Draw', ...one })
  const counted = async (...line: string[]) => (await run(['tasks', '-p', 'Counted', '--count', ...line])).out
  expect(await counted('status')).toBe(
    `STATUS       TASKS
TODO         2
IN_PROGRESS  0
DONE         1
Total 3
`,
  )
  expect(await counted('assigneeId')).toBe(
    'ASSIGNEE       TASKS\nAda            1\n(no assignee)  2\nTotal 3\n',
  )
  expect(await counted('label', '--status', 'todo')).toBe('LABEL  TASKS\nbug    2\nTotal 2\n')
  expect(await json(['tasks', '-p', 'Counted', '--count', 'none'])).toMatchObject({ total: 3, counts: [] })
  const wrong = await run(['tasks', '-p', 'Counted', '--count', 'title'])
  expect([wrong.code, wrong.err]).toEqual([
    2,
    expect.stringContaining('--count must be one of status, priority'),
  ])
})

test('finds names in other Unicode forms, such as those that macOS and Japanese keyboards write', async () => {
  const { id: projectId } = await json(['projects', '--create', 'Größe ガ'])
  await invite(ada, projectId, await register(service.client, 'Zoë'.normalize('NFD')), 'EDITOR')
  for (const name of ['Prüfung', 'Ⅳ 2']) await docket.labels.create({ projectId, name })
  const options = ['klein', 'Größer']
  await docket.fields.create({ projectId, key: 'size', name: 'Size', type: 'choice', options })
  const labels = ['prüfung'.normalize('NFD'), 'iv\u00a02'].join()
  const given = ['--assignee', 'zoë', '--labels', labels, '--fields', `size=${'Größer'.normalize('NFD')}`]
  for (const form of ['NFC', 'NFD', 'NFKD']) {
    const project = ['--project', 'größe ガ'.normalize(form)]
    const { labelIds, fields } = await json(['add', 'Cast', ...given, ...project])
    expect([labelIds.length, fields]).toEqual([2, { size: 'Größer' }])
    expect(titles(await json(['tasks', '--any-label', labels, ...project]))).toContain('Cast')
  }
  const form = ['--project', 'Größe ｶﾞ']
  const filter = `field.size=${'Größer'.normalize('NFD')}`
  expect(await json(['tasks', filter, ...form])).toHaveLength(3)
})

test('names the candidates for an unknown or ambiguous name', async () => {
  await json(['projects', '--create', 'Twin'])
  await json(['projects', '--create', 'Twin'])
  const unknown = await run(['tasks', '--project', 'Egine'])
  expect([unknown.code, unknown.err]).toEqual([
    3,
    'docket: No project is named Egine; the names are Engine, Counted, Größe ガ, Twin, Twin\n',
  ])
  const both = await run(['tasks', '--project', 'twin'])
  expect([both.code, both.err]).toEqual([
    2,
    expect.stringMatching(
      /^docket: Several projects are named twin: pass one of the ids [0-9a-f-]{36}, [0-9a-f-]{36}\n$/,
    ),
  ])
  expect(await run(['done', '99'], inEngine)).toEqual({
    code: 3,
    out: '',
    err: 'docket: The project has no task #99\n',
  })
  expect((await run(['add', 'Draw'])).err).toContain('--project is required')
})

test('append adds to a description, and an edit of a text in a strict project names the ETag', async () => {
  const { id: strict } = await docket.projects.create({ name: 'Strict', textEdits: 'if-match' })
  const inStrict = { env: { ...inEngine.env, DOCKET_PROJECT: strict } }
  await json(['add', 'Hand over'], inStrict)
  expect((await run(['append', '1', 'The frame is cast.'], inStrict)).out).toBe('Changed #1 Hand over\n')
  const key = ['--key', 'wheels']
  for (const _ of [1, 2])
    expect(
      (await json(['append', '1', '-', ...key], { ...inStrict, input: 'Wheels next.\n' })).description,
    ).toBe('The frame is cast.\n\nWheels next.')
  const { code, err } = await run(['edit', '1', '--description', 'Done'], inStrict)
  const etag = /The ETag is now (.+)\n$/.exec(err)?.[1]
  expect([code, err]).toEqual([5, expect.stringMatching(/only with If-Match/)])
  const edited = await json(['edit', '1', '--description', 'Done', '--if-match', etag!], inStrict)
  expect(edited.description).toBe('Done')
})

test('each kind of error has an exit code, and prints one line', async () => {
  const { id } = await json(['add', 'Draw', '--external-id', 'same'], inEngine)
  const codeOf = async (line: string[], fetch?: () => Promise<Response>) => {
    const { code, err } = await run(line, { ...inEngine, ...(fetch && { fetch }) })
    expect(err).toMatch(/^docket: [^\n]+\n$/)
    return code
  }
  expect(await codeOf(['edit', id, '--due', 'soon'])).toBe(1)
  expect(await codeOf(['edit', id, '--status', 'doing'])).toBe(2)
  expect(await codeOf(['done', '01a2061c-7431-7002-b185-f0596fc00038'])).toBe(3)
  expect(await codeOf(['add', 'Oil', '--external-id', 'same'])).toBe(5)
  expect(await codeOf(['edit', id, '--title', 'Oil', '--if-match', '"old"'])).toBe(5)
  expect(await codeOf(['append', id, ''])).toBe(1)
  expect(await codeOf(['tasks'], async () => Response.json({ message: 'No' }, { status: 500 }))).toBe(6)
})

test('a lost response or a repeated --key creates one task', async () => {
  const { id } = await json(['projects', '--create', 'Once'])
  let requests = 0
  const losing: typeof fetch = Object.assign(
    async (url: string, init: RequestInit) => {
      const response = await service.fetch(new URL(url).pathname, init)
      if (++requests === 1) throw new TypeError('The connection was closed')
      return response
    },
    { preconnect: fetch.preconnect },
  ) as never
  const line = ['add', 'Draw', '--project', id]
  const { code, err } = await run(line, { fetch: losing, columns: 80 })
  expect([code, err]).toEqual([0, 'http://localhost does not answer: retrying\n'])
  expect([requests, (await json(['tasks', '-p', id])).length]).toEqual([2, 1])
  const first = await json([...line, '--key', 'plate-1'])
  expect(await json([...line, '--key', 'plate-1'])).toEqual(first)
  expect(await json(['tasks', '-p', id])).toHaveLength(2)
})

test('a table fits the terminal, and no output contains escape sequences of a text', async () => {
  const { id } = await json(['projects', '--create', 'Wide'])
  const long = `${'漢字'.repeat(30)} end`
  await json(['add', long, '-p', id, '--priority', 'low'])
  const onTerminal = await run(['tasks', '-p', id], { columns: 50 })
  expect(onTerminal.out).toMatch(/^\u001b\[1m# .*\u001b\[0m\n.*字….*\n$/)
  for (const line of onTerminal.out.split('\n')) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(50)
  const env = { NO_COLOR: '1' }
  expect((await run(['tasks', '-p', id], { columns: 50, env })).out).not.toContain('\u001b')
  expect((await run(['tasks', '-p', id])).out).toContain(long)

  const text = 'a\u001b[31mb\u009b2Jc\nd'
  const { id: taskId } = await json(['add', 'Draw', '-p', id, '--description', text])
  expect((await json(['tasks', '-p', id]))[1].description).toBe(text)
  for (const line of [
    ['history', '-p', id],
    ['tasks', '-p', id, '--json'],
    ['history', taskId],
  ]) {
    await run(['edit', taskId, '--description', `${text}${Math.random()}`])
    expect((await run(line)).out).not.toMatch(/[\u001b\u009b]/)
  }
})

test('searches all projects or one, and prints similar titles if nothing matches', async () => {
  const { id } = await json(['projects', '--create', 'Searches'])
  const inSearches = { env: { DOCKET_PROJECT: id } }
  const task = await json(['add', 'Polish the sextant', '--project', id])
  await run(['comment', task.id, 'With chalk, please.'])
  const { out } = await run(['search', 'chalk', 'ple'])
  expect(out).toContain(`comment  ${task.id}  Searches  Polish the sextant  With chalk, please.`)
  expect((await run(['search', 'chalk'], inSearches)).out).not.toContain('PROJECT')
  expect(await json(['search', '"the sextant" -chalk'])).toMatchObject([{ type: 'task', id: task.id }])
  expect(await json(['search', 'sextant', '--types', 'comment'], inSearches)).toEqual([])
  const similar = await run(['search', 'sextent'], inSearches)
  expect([similar.err, similar.out]).toEqual([
    'Nothing contains all words. Similar titles:\n',
    expect.stringContaining('Polish the sextant'),
  ])
  expect(await run(['search', '-p', id, 'zzzz'])).toEqual({ code: 0, out: '', err: 'No hits\n' })
  const words = Array.from({ length: 33 }, (_, n) => `w${n}`)
  expect((await run(['search', ...words])).err).toContain('q must have at most 32 words')
})
