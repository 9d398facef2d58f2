import { parse } from 'csv-parse/sync'
import { unescapeFormula } from '../../modules/exports/cells.ts'
import { type Client, eventually, invite, make, openScene, Random, upTo } from '../kit.ts'
import { startRandomWrites, writeRandomly } from '../past/random-writes.ts'
import { examined, importInto, makeEverything } from './everything.ts'
import { exported, linesOf } from './scene.ts'

const { service, ada, bea, cy, dee } = await openScene(['Ada', 'Bea', 'Cy', 'Dee'])
service.startWorkers()

const emptyProject = async (owner: Client) => (await make(owner, '/projects', { name: 'Other' })).id
const kinds = (file: string, kind: string) => linesOf(file).filter((line) => line.kind === kind)
const reportOf = async (client: Client, id: string) =>
  (await client.get(`/imports/${id}/report`)).body.map(({ message }) => String(message))

async function newProject(): Promise<string> {
  const id = await emptyProject(ada)
  for (const person of [bea, cy]) await invite(ada, id, person, 'EDITOR')
  return id
}

/** Imports a file into the project, by default a new one with the same members. */
async function imported(source: string, file: string, into?: string) {
  const projectId = into ?? (await newProject())
  const { id, error, counts, mapping } = await importInto(ada, projectId, file, `source=${source}`)
  expect(error).toBeNull()
  return { projectId, counts, mapping, report: await reportOf(ada, id) }
}

const awkward = [
  ...[
    '=1+1',
    '@',
    '+',
    '"',
    "'=",
    "'",
    ',',
    ';',
    '\t',
    '\r\n',
    '\n---\n',
    '  ',
    '[x] ',
    '- ',
    '🎡',
    'e\u0301',
    '[a,b]',
    '1.50',
    'TRUE',
  ],
  ...['<b@example.com>', '2026-01-01T00:00:00.000Z Ada\n  text', '\u2028', '\ufeff', '\\n', 'null'],
]
const visible = awkward.filter((text) => text.trim() !== '')
const randomText = (random: Random) =>
  `${Array.from({ length: random.below(9) }, () => random.pick(awkward)).join('')}.`
const randomName = (random: Random) => randomText(random).replace(/[\p{Cc}\u2028]/gu, ' ')

const seed = Date.now()

async function randomProject() {
  const random = new Random(seed)
  const world = await startRandomWrites(random, [ada, bea, cy])
  for (let round = 0; round < 8; round++) await writeRandomly(world, 60)
  const { id } = world.projects[0]!
  // The random writes may have deleted most tasks, or moved them to other projects.
  for (const _ of upTo(6)) await make(ada, '/tasks', { projectId: id, title: 'Task' })
  await make(ada, `/projects/${id}/fields`, { key: 'awkward', name: 'Awkward', type: 'text' })
  for (const { id: taskId } of (await ada.get(`/tasks?projectId=${id}&limit=20`)).body) {
    await make(ada, `/tasks/${taskId}/comments`, { text: randomText(random) })
    await make(ada, `/tasks/${taskId}/subtasks`, { title: randomName(random) })
    const changes = {
      title: randomName(random),
      description: randomText(random),
      externalId: `${[...randomName(random)].slice(0, 150).join('')}${taskId}`,
    }
    const { status } = await ada.patch(`/tasks/${taskId}`, {
      ...changes,
      fields: { awkward: random.pick(visible)! },
    })
    expect(status).toBe(200)
  }
  for (const start of ['=', '+', '-', '@', "'="])
    await make(ada, '/tasks', { projectId: id, title: `${start}1`, description: `\t${start}` })
  return id
}

/** A row without an author in the file gets the importing account as author. */
const authorOf = (name: string) => (name === 'Ada' ? '' : name)
const isGiven = (externalId: unknown) => !/^(docket|csv):/.test(String(externalId))

/** Reminders of the past, and of the next seconds, are not imported. */
const compared = (text: string) => {
  const near = new Date(Date.now() + 20_000).toISOString()
  return examined(text).map((line) => ({ ...line, ...(String(line.remindAt) < near && { remindAt: null }) }))
}

test.each([
  ['with rows of every kind', () => makeEverything(ada, bea)],
  [`of random writes (seed ${seed})`, randomProject],
])(
  'a project %s, its import, and an import of that import have equal exports',
  async (_, makeProject) => {
    const id = await makeProject()
    const before = await exported(ada, id)
    const { projectId, counts, report } = await imported('docket', before)
    const tasks = kinds(before, 'task').length
    expect(tasks).toBeGreaterThan(5)
    expect(counts).toMatchObject({ read: tasks, created: tasks, rejected: 0 })
    expect(report[0]).toMatch(/^Lines of these kinds are not imported: member \(\d\)/)
    const after = await exported(ada, projectId)
    expect(compared(after)).toEqual(compared(before))
    // The second importer is a member of neither project.
    const thirdId = await emptyProject(dee)
    for (const person of [ada, bea, cy]) await invite(dee, thirdId, person, 'EDITOR')
    await importInto(dee, thirdId, after)
    expect(compared(await exported(dee, thirdId))).toEqual(compared(before))
    // The file changes nothing in its own project, and creates nothing in the other one.
    await imported('docket', before, id)
    expect(compared(await exported(ada, id))).toEqual(compared(before))
    expect((await imported('docket', before, projectId)).counts.created).toBe(0)
    expect(linesOf(await exported(ada, projectId))).toHaveLength(linesOf(after).length)
  },
  60_000,
)

function cells(text: string) {
  const rows = parse(text, { bom: true, columns: true }) as Record<string, string>[]
  const ids = rows.map(({ id }) => id!)
  const nameOf = (person: string) => person.replace(/ <.*/, '')
  return rows.map(({ id: _, number: __, updatedAt: ___, remindAt: ____, ...row }) => ({
    ...Object.fromEntries(
      Object.entries(row).flatMap(([name, cell]) =>
        cell === '' && name.startsWith('field.') ? [] : [[name, unescapeFormula(cell)]],
      ),
    ),
    author: authorOf(row.importedAuthor || nameOf(row.author!)),
    importedAuthor: '',
    externalId: isGiven(row.externalId) ? row.externalId : '',
    blockedBy: row
      .blockedBy!.split('\n')
      .map((one) => ids.indexOf(one))
      .sort(),
    comments: row.comments!.replace(/^(\S+ [^\n]*?) <[^\n]*/gm, '$1'),
  }))
}

test(`the data of a csv file is the same after an export and an import into another project (seed ${seed})`, async () => {
  const id = await randomProject()
  const all = await exported(ada, id)
  const before = await exported(ada, id, 'format=csv')
  // Spreadsheets run cells that begin with these characters as formulas.
  for (const row of parse(before, { bom: true, columns: true }) as Record<string, string>[])
    for (const [name, cell] of Object.entries(row))
      if (!name.startsWith('field.')) expect(cell).not.toMatch(/^[=+\-@\t\r]/)
  const { projectId, counts, mapping } = await imported('csv', before)
  expect(counts.rejected).toBe(0)
  expect(mapping.columns).toMatchObject({ number: null, updatedAt: null, 'field.awkward': 'field.awkward' })
  expect(cells(await exported(ada, projectId, 'format=csv'))).toEqual(cells(before))
  const rows = (text: string) =>
    linesOf(text).filter(({ kind }) => ['task', 'subtask', 'comment'].includes(String(kind)))
  await imported('docket', all, projectId)
  expect(rows(await exported(ada, projectId))).toHaveLength(rows(all).length)
  // The file changes nothing in its own project.
  await imported('csv', before, id)
  expect(compared(await exported(ada, id))).toEqual(compared(all))
}, 60_000)

test.each([
  ['docket', 'csv'],
  ['csv', 'docket'],
])('after an import as %s, an import as %s finds its subtasks and comments', async (first, second) => {
  const { id } = await make(ada, '/projects', { name: 'First' })
  await invite(ada, id, bea, 'EDITOR')
  const task = await make(ada, '/tasks', { projectId: id, title: 'Task' })
  for (const title of ['Oil', 'Oil', 'Clean']) await make(ada, `/tasks/${task.id}/subtasks`, { title })
  await make(ada, `/tasks/${task.id}/comments`, { text: 'In brass' })
  await make(bea, `/tasks/${task.id}/comments`, { text: 'In tin' })
  const fileOf = (format: string) => exported(ada, id, `format=${format}`)
  const { projectId } = await imported(first, await fileOf(first))
  const before = await exported(ada, projectId)
  for (const _ of [1, 2]) {
    const { counts } = await imported(second, await fileOf(second), projectId)
    expect(counts).toMatchObject({ created: 0, updated: 0, unchanged: 1 })
    expect(compared(await exported(ada, projectId))).toEqual(compared(before))
  }
})

test('a part of a csv file keeps blockers that only the project has, and names others in the description', async () => {
  const { id } = await make(ada, '/projects', { name: 'Whole' })
  const blocker = await make(ada, '/tasks', { projectId: id, title: 'Blocker' })
  await make(ada, '/tasks', { projectId: id, title: 'Blocked', blockedByIds: [blocker.id] })
  const all = await exported(ada, id, 'format=csv')
  const part = all
    .split('\r\n')
    .filter((_, line) => line !== 1)
    .join('\r\n')
  const { counts } = await imported('csv', part, id)
  expect(counts).toMatchObject({ read: 1, unchanged: 1 })
  expect(await exported(ada, id, 'format=csv')).toBe(all)
  const { projectId } = await imported('csv', part)
  const tasks = async () => (await ada.get(`/tasks?projectId=${projectId}`)).body
  expect(await tasks()).toMatchObject([{ description: `Blocked by: ${blocker.id}`, blockedByIds: [] }])
  await imported('csv', all, projectId)
  const other = (await tasks()).find(({ title }) => title === 'Blocker')!
  expect(await tasks()).toContainEqual(
    expect.objectContaining({ title: 'Blocked', description: null, blockedByIds: [other.id] }),
  )
  expect((await imported('csv', part, projectId)).counts).toMatchObject({ read: 1, unchanged: 1 })
})

test('an import into a project without the members differs only in assignees, which become description lines', async () => {
  const first = await exported(ada, await makeEverything(ada, bea))
  const secondId = await emptyProject(dee)
  await importInto(dee, secondId, first)
  const second = await exported(dee, secondId)
  const unassigned = examined(first).map((line) => {
    const { assignee, description } = line as {
      assignee?: { name: string; email: string }
      description?: string
    }
    if (!assignee) return line
    const foot = `Assignee: ${assignee.name} <${assignee.email}>`
    return { ...line, assignee: null, description: description ? `${description}\n\n---\n${foot}` : foot }
  })
  expect(examined(second)).toEqual(unassigned)
  const thirdId = await emptyProject(cy)
  await importInto(cy, thirdId, second)
  expect(examined(await exported(cy, thirdId))).toEqual(examined(second))
}, 60_000)

test('an undo also removes the description, the labels and the order of an import', async () => {
  const file = await exported(ada, await makeEverything(ada, bea))
  const projectId = await emptyProject(dee)
  const { id } = await importInto(dee, projectId, file)
  await dee.post(`/imports/${id}/undo`)
  const undo = async () => (await dee.get(`/imports/${id}`)).body as unknown as { undo: { state: string } }
  await eventually('the end of the undo', async () => (await undo()).undo.state === 'done')
  expect(await undo()).toMatchObject({ undo: { undone: 9, kept: 0 } })
  const [head, ...lines] = linesOf(await exported(dee, projectId))
  expect(head).toMatchObject({ project: { description: null, textEdits: 'last-write-wins' } })
  expect(lines).toEqual([{ kind: 'end', lines: 2 }])
}, 60_000)

test('an import sets textEdits of the file, and never takes the setting back', async () => {
  const file = await exported(ada, await makeEverything(ada, bea))
  const open = file.replace('"textEdits":"if-match"', '"textEdits":"last-write-wins"')
  const projectId = await newProject()
  const settings: unknown[] = []
  for (const one of [open, file, open]) {
    await importInto(ada, projectId, one)
    settings.push((await ada.get(`/projects/${projectId}`)).body)
  }
  expect(settings).toMatchObject(
    ['last-write-wins', 'if-match', 'if-match'].map((textEdits) => ({ textEdits })),
  )
})

test('an EDITOR imports tasks, and the report lists the parts that only an ADMIN can import', async () => {
  const file = await exported(ada, await makeEverything(ada, bea))
  const projectId = await emptyProject(dee)
  await invite(dee, projectId, cy, 'EDITOR')
  const { id, counts } = await importInto(cy, projectId, file)
  expect(counts).toMatchObject({ created: 9, rejected: 0 })
  expect(await reportOf(cy, id)).toContain(
    'The description and settings of the project: This needs the role ADMIN in the project',
  )
}, 60_000)

const isCsv = (format: string) => format === 'csv'
const unchanged = { read: 9, created: 0, updated: 0, unchanged: 9, rejected: 0 }

test.each(['docket', 'csv'])(
  'an export as %s restores the values of the tasks in its own project',
  async (format) => {
    const projectId = await makeEverything(ada, bea)
    const before = examined(await exported(ada, projectId))
    const file = await exported(ada, projectId, `format=${format}`)
    const importAgain = async (more = '') =>
      (await importInto(ada, projectId, file, `source=${format}${more}`)).counts
    expect(await importAgain('&dryRun=true')).toEqual(unchanged)
    const tasks = (await ada.get(`/tasks?projectId=${projectId}`)).body
    const idOf = (title: string) => tasks.find((one) => one.title === title)!.id
    const [bare, commented, full] = [idOf('Of a deleted account'), idOf('Written by Bea'), idOf('Dates')]
    const filled = {
      ...{ title: 'T', description: 'D', status: 'DONE', dueDate: '2031-01-01', remindAt: '2998-01-01' },
      ...{ assigneeId: ada.id, fields: { cost: 3 }, externalId: 'E', blockedByIds: [full] },
    }
    // The project has `textEdits: "if-match"`, and the import restores the texts without an ETag.
    const ifMatch = { 'if-match': (await ada.get(`/tasks/${bare}`)).headers.get('etag')! }
    expect((await ada.patch(`/tasks/${bare}`, filled, ifMatch)).status).toBe(200)
    await ada.patch(`/tasks/${full}`, { dueDate: null, remindAt: null, assigneeId: null, priority: 'LOW' })
    const [subtask] = (await ada.get(`/tasks/${commented}/subtasks`)).body
    // A CSV file has no ids of subtasks, so the title identifies a subtask.
    const changed = { completed: false, ...(!isCsv(format) && { title: 'Other' }) }
    await ada.patch(`/tasks/subtasks/${subtask!.id}`, changed)
    const [comment] = (await ada.get(`/tasks/${commented}/comments`)).body
    await ada.patch(`/tasks/comments/${comment!.id}`, { text: 'Changed' })
    expect(await importAgain()).toEqual({ ...unchanged, updated: 3, unchanged: 6 })
    expect(examined(await exported(ada, projectId))).toEqual(before)
  },
  60_000,
)

test('an export imported into its own project creates a deleted task once, with its children and another id', async () => {
  const projectId = await makeEverything(ada, bea)
  const before = await exported(ada, projectId)
  const deleted = kinds(before, 'task').find(({ title }) => title === 'Written by Bea')!
  await ada.delete(`/tasks/${String(deleted.id)}`)
  for (const created of [1, 0]) {
    const { counts } = await importInto(ada, projectId, before)
    expect(counts).toMatchObject({ created, rejected: 0 })
    const after = await exported(ada, projectId)
    for (const kind of ['task', 'subtask', 'comment'])
      expect([kind, kinds(after, kind).length]).toEqual([kind, kinds(before, kind).length])
  }
}, 60_000)

test('a CSV file without the column of a field does not change the values of the field', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  for (const key of ['size', 'note'])
    await make(ada, `/projects/${projectId}/fields`, { key, name: key, type: 'text' })
  const fields = { size: 'large', note: 'In brass' }
  await make(ada, '/tasks', { projectId, title: 'Oil', dueDate: '2030-01-01', fields })
  const file = await exported(ada, projectId, 'format=csv')
  const edited = file
    .replace(',field.note', '')
    .replace(',In brass', '')
    .replace(/2030-01-01[^,]*/, '')
  const { counts } = await importInto(ada, projectId, edited.replace('large', ''), 'source=csv')
  expect(counts).toMatchObject({ updated: 1, created: 0 })
  const [task] = (await ada.get(`/tasks?projectId=${projectId}`)).body
  const { fields: kept, ...rest } = task as typeof task & { fields: object }
  expect([rest, kept]).toEqual([
    expect.objectContaining({ title: 'Oil', dueDate: null }),
    { note: 'In brass' },
  ])
}, 60_000)

test('lines that are not imported are listed without a row', async () => {
  const before = await exported(ada, await makeEverything(ada, bea), 'history=true')
  const events = kinds(before, 'event').length
  const { id } = await importInto(ada, await emptyProject(ada), before)
  const message = `Lines of these kinds are not imported: member (1), event (${events})`
  const [line] = (await ada.get(`/imports/${id}/report`)).body
  expect(line as unknown).toEqual({ row: null, externalId: null, outcome: 'rejected', message })
}, 60_000)
