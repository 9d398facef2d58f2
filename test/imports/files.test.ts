import { allPages, eventually, forFile, make, openTestService, type Person, upTo } from '../kit.ts'
import { caseName, type FileCase, fileOf, readCases, samples, textOf } from './files.ts'
import { openImporting, type Row, start } from './scene.ts'

const { importFile, newProject, service } = await openImporting()

type Read = Awaited<ReturnType<typeof importFile>>

/** A row that the file gives no time gets the time of the import. */
const timeOf = ({ createdAt }: Row, { startedAt }: Read) =>
  String(createdAt) < startedAt ? { createdAt } : {}

const shownTask = (task: Row, read: Read): Row => ({
  ...{ title: task.title, externalId: task.externalId, description: task.description },
  ...{ status: task.status, priority: task.priority, dueDate: task.dueDate, ...timeOf(task, read) },
  ...{ importedAuthor: task.importedAuthor, labels: task.labels, fields: task.fields },
  blockedBy: task.blockedBy,
  subtasks: (task.subtasks as Row[]).map((one) => ({
    ...{ title: one.title, completed: one.completed, ...timeOf(one, read) },
  })),
  comments: (task.comments as Row[]).map((one) => ({
    ...{ text: one.text, importedAuthor: one.importedAuthor, ...timeOf(one, read) },
  })),
})

/** Returns what a file becomes: rows without ids, with the titles of blockers in place of their ids. */
async function resultOf(read: Read) {
  const { owner, projectId, counts, mapping, lines, labels } = read
  const sorted = (rows: Row[], key: string) =>
    rows.toSorted((a, b) => String(a[key]).localeCompare(String(b[key]), 'en'))
  const fields = (await owner.get(`/projects/${projectId}/fields`)).body as unknown as Row[]
  return {
    ...{ counts, mapping, lines },
    description: (await owner.get(`/projects/${projectId}`)).body.description,
    labels: sorted(labels, 'name').map(({ name, color }) => [name, color]),
    fields: sorted(fields, 'key').map(({ key, name, type, options }) => ({ key, name, type, options })),
    tasks: read.tasks.map((task) => shownTask(task, read)),
  }
}

const results = new URL('results/', import.meta.url)

test.each(samples)(
  '$file becomes exactly the expected project, and a second import with the proposed mapping changes nothing',
  async ({ source, file }) => {
    const text = await textOf(file)
    const first = await importFile(source, text)
    const expected = await Bun.file(new URL(`${file}.json`, results)).json()
    expect(JSON.parse(JSON.stringify(await resultOf(first)))).toEqual(expected)
    const again = await importFile(source, text, { into: first, mapping: first.mapping })
    const read = first.counts.read
    expect(again.counts).toEqual({ read, created: 0, updated: 0, unchanged: read, rejected: 0 })
    expect(again.tasks).toEqual(first.tasks)
  },
)

const defaults: Row = { status: 'TODO', priority: 'MEDIUM', completed: false }
/** The external id of a row without an id is a digest of the row. */
const digest = /^\w+:[\w-]{22}(?=#|$)/
const isEmpty = (value: unknown) => ['null', '""', '[]', '{}'].includes(JSON.stringify(value))

/** Leaves out digests, and the values that a row without values has too. */
function compact(row: Row): Row {
  const shown = Object.entries(row).map(([name, value]): [string, unknown] => {
    if (name === 'externalId') return [name, String(value).replace(digest, '')]
    return [name, Array.isArray(value) ? value.map(compactPart) : value]
  })
  return Object.fromEntries(shown.filter(([name, value]) => value !== defaults[name] && !isEmpty(value)))
}
const compactPart = (value: unknown) => (typeof value === 'object' ? compact(value as Row) : value)

const { rejected: _, ...accepted } = await readCases()
const all = Object.values(accepted).flat()

test.concurrent.each(all.map((one) => [caseName(one), one] as const))('reads %s', async (_, one) => {
  const read = await importFile(one.source ?? 'csv', fileOf(one), { mapping: one.mapping })
  const { fields, description } = await resultOf(read)
  const shown: FileCase = {
    ...(read.error !== null && { error: read.error }),
    ...(description !== null && { description }),
    tasks: read.tasks.map((task, n) => ({
      ...compact(shownTask(task, read)),
      ...(task.number !== n + 1 && { number: task.number }),
    })),
    report: read.lines.map(({ message }) => String(message)),
    ...(one.fields && { fields: Object.fromEntries(fields.map(({ key, type }) => [key, type])) }),
    ...(one.proposes && { proposes: read.mapping }),
  }
  const { report = [], fields: types, proposes, error } = one
  expect(shown).toEqual({
    report,
    fields: types,
    proposes,
    error,
    description: one.description,
    tasks: expectedTasks(one),
  })
})

function expectedTasks({ header, tasks = [] }: FileCase): Row[] {
  if (header === undefined) return tasks
  const rows = tasks.flatMap(({ cells = [], ...task }) => cells.map(() => task))
  return rows.map((task, n) => ({ title: `${n + 1}`, ...task }))
}

test('files of two sources with the same ids become separate tasks, and refer to tasks of their own source', async () => {
  const [first, second] = ['ID,Title,Depends on\nA-1,First,\n', 'ID,Title,Depends on\nA-2,Second,A-1\n']
  const into = await newProject()
  for (const file of [first, second])
    for (const source of ['csv', 'linear']) {
      const { counts } = await importFile(source, file, { into })
      expect(counts).toMatchObject({ created: 1, updated: 0, rejected: 0 })
    }
  const { tasks } = await importFile('linear', second, { into })
  const numberOf = new Map(tasks.map(({ id, number }) => [id, number]))
  expect(
    tasks.map((one) => [one.externalId, (one.blockedByIds as string[]).map((id) => numberOf.get(id))]),
  ).toEqual([
    ['csv:A-1', []],
    ['linear:A-1', []],
    ['csv:A-2', [1]],
    ['linear:A-2', [2]],
  ])
})

test('a task and a comment from the future are not after later ones, and are reported', async () => {
  const file = 'ID,Title,Created,Comments\n1,Draw,2099-01-01,"2099-01-01T00:00:00.000Z Ada\n  Later"\n'
  const first = await importFile('csv', file)
  await first.owner.post(`/tasks/${String(first.tasks[0]!.id)}/comments`, { text: 'Now' })
  const { tasks, counts } = await importFile('csv', file, { into: first })
  expect(counts).toMatchObject({ unchanged: 1 })
  await make(first.owner, '/tasks', { projectId: first.projectId, title: 'Now' })
  const { body } = await first.owner.get(`/tasks?projectId=${first.projectId}&sort=createdAt`)
  expect(body.map(({ title }) => title)).toEqual(['Draw', 'Now'])
  const [task] = tasks as [Row & { comments: { text: string; createdAt: string }[] }]
  const [later, now] = task.comments
  expect([later!.text, now!.text]).toEqual(['Later', 'Now'])
  for (const { createdAt } of [later!, task]) expect(String(createdAt) < now!.createdAt).toBe(true)
  const replaced = 'is in the future: it was replaced by the time of the import'
  expect(first.lines.map(({ message }) => message)).toEqual(
    ['task', 'comment'].map((kind) => `The time 2099-01-01T00:00:00.000Z of the ${kind} ${replaced}`),
  )
})

test('a task with a thousand comments has all of them, in their order', async () => {
  const times = Array.from({ length: 1_000 }, (_, n) => new Date(1_600_000_000_000 + n * 1_000).toISOString())
  const cells = times.map((time, n) => `${time} Ada\n  Comment ${n}`).join('\n')
  const { tasks } = await importFile('csv', `ID,Title,Comments\n0,First,\n1,Draw,"${cells}"\n2,Last,\n`)
  const comments = tasks[1]!.comments as Row[]
  expect(comments.map(({ text }) => text)).toEqual(times.map((_, n) => `Comment ${n}`))
})

/** Does not compress. */
const longText = (characters: number) =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(characters)))
    .toString('base64')
    .slice(0, characters)

test('ids of 50,000 characters are replaced by digests, which a second import finds again', async () => {
  const [one, two, part] = [longText(50_000), longText(50_000), longText(50_000)] as const
  const rows = [`${one},A,,,`, `${two},B,,${one},`, `${part},C,${one},,`, `${two},D,,,`]
  const file = ['ID,Title,Parent,Blocked by,Comments', ...rows].join('\n')
  const first = await importFile('csv', file)
  expect(first.counts).toMatchObject({ read: 3, created: 2, rejected: 1 })
  const lines = first.lines.map(({ row, message }) => [row, message])
  for (const [n, key] of [one, two].entries()) {
    const text = `At the foot of the description: External id: csv:${key.slice(0, 100)}`
    expect(lines).toContainEqual([n + 1, expect.stringContaining(text)])
  }
  expect(lines).toContainEqual([4, 'Row 2 has the same id'])
  const externalId = expect.stringMatching(/^csv:[\w-]{22}$/)
  const description = expect.stringContaining(`External id: csv:${one.slice(0, 900)}`)
  expect(first.tasks).toMatchObject([
    { externalId, description, subtasks: [{ title: 'C' }] },
    { externalId, blockedBy: ['A'] },
  ])
  const again = await importFile('csv', file, { into: first })
  expect(again.counts).toMatchObject({ unchanged: 2, rejected: 1 })
})

test('the labels that a project has no space for are notes, up to 10,000 characters and 2,000 of the report', async () => {
  const file = `Title,Note,Labels\na,In brass,"${upTo(3_000)}"\n`
  const { id, owner, tasks } = await importFile('csv', file)
  const description = String(tasks[0]!.description)
  expect(description).toStartWith('In brass\n\n---\nLabel: ')
  expect(description).toHaveLength('In brass\n\n---\n'.length + 10_000)
  const lines = (await allPages(owner, `/imports/${id}/report?limit=200`)).flat()
  const [message] = lines.flatMap((line) => (line.message.includes('Label: ') ? line.message : []))
  expect(message).toHaveLength(2_000)
  expect(message).toStartWith('The description was cut. At the foot')
})

test('a second import adds the new options of a field', async () => {
  const board = (...names: string[]) => ({
    lists: [{ id: 'l', name: 'To do' }],
    customFields: [
      { id: 'f', name: 'Size', type: 'list', options: names.map((text) => ({ id: text, value: { text } })) },
    ],
    cards: [{ id: 'c', name: 'Draw', customFieldItems: [{ idCustomField: 'f', idValue: names.at(-1) }] }],
  })
  const into = await importFile('trello', board('S', 'M'))
  const { tasks, lines, counts } = await importFile('trello', board('S', 'L'), { into })
  expect(tasks).toMatchObject([{ fields: { size: 'L' }, description: null }])
  expect(lines).toEqual([])
  expect(counts).toMatchObject({ updated: 1 })
})

test('columns above the maximum number of fields become lines of the description by their headers', async () => {
  const headers = upTo(52).map((n) => `Größe ${n}`)
  const { lines, tasks } = await importFile(
    'csv',
    `Title,Status,${headers.join()}\na,Done,${upTo(52).join()}\n`,
  )
  expect(Object.keys(tasks[0]!.fields as object)).toHaveLength(50)
  expect(lines.map(({ message }) => message)).toEqual([
    `At the foot of the description: ${headers[50]}: 51; ${headers[51]}: 52`,
  ])
})

test('while a worker imports into a project, two services write to it, and no event is lost', async () => {
  const tasks = 1_000
  const other = await forFile(openTestService(service.env))
  const { owner, projectId } = await newProject()
  const file = ['title', ...upTo(tasks).map((n) => `Imported ${n}`)].join('\n')
  const { body } = await start(owner, projectId, file)
  const readImport = async () =>
    (await owner.get(`/imports/${body.id}`)).body as unknown as { state: string; counts: object }
  const written: string[] = []
  const write = async (person: Person, name: string) => {
    for (let n = 0; ['queued', 'running'].includes((await readImport()).state); n++) {
      await make(person, '/tasks', { projectId, title: `${name} ${n}` })
      written.push(`${name} ${n}`)
    }
  }
  const elsewhere = { ...owner, ...other.client.as(owner.token) }
  await Promise.all([write(owner, 'A'), write(elsewhere, 'B')])
  await eventually('the end of the import', async () => (await readImport()).state === 'done')
  expect((await readImport()).counts).toMatchObject({ read: tasks, created: tasks, rejected: 0 })
  expect(written.length).toBeGreaterThan(2)
  const pages = await allPages(owner, `/projects/${projectId}/history?limit=200`)
  const events = pages.flat().toReversed() as unknown as { seq: number; after: { title?: string } | null }[]
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, n) => n + 1))
  const titles = events.flatMap(({ after }) => after?.title ?? [])
  expect(titles).toHaveLength(tasks + written.length)
  expect(titles).toEqual(expect.arrayContaining(written))
})
