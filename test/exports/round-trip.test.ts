import { parse } from 'csv-parse/sync'
import { unescapeFormula } from '../../modules/exports/cells.ts'
import { allPages, cases, type Client, eventually, invite, make, openScene, Random, upTo } from '../kit.ts'
import { versionOf } from '../kit.ts'
import { startRandomWrites, writeRandomly } from '../past/random-writes.ts'
import { examined, importInto, makeEverything } from './everything.ts'
import { exported, linesOf, withoutTime } from './scene.ts'

const { service, ada, bea, cy, dee } = await openScene(['Ada', 'Bea', 'Cy', 'Dee'])
service.startWorkers()

const emptyProject = async (owner: Client) => (await make(owner, '/projects', { name: 'Other' })).id
const kinds = (file: string, kind: string) => linesOf(file).filter((line) => line.kind === kind)
const reportOf = async (client: Client, id: string) => (await client.get(`/imports/${id}/report`)).body

async function newProject(owner: Client = ada): Promise<string> {
  const id = await emptyProject(owner)
  for (const person of [ada, bea, cy]) if (person !== owner) await invite(owner, id, person, 'EDITOR')
  return id
}

/** Imports a file into the project, by default a new one with the same members. */
async function imported(source: string, file: string, into?: string) {
  const projectId = into ?? (await newProject())
  const { id, error, counts, mapping } = await importInto(ada, projectId, file, `source=${source}`)
  expect(error).toBeNull()
  const report = (await reportOf(ada, id)).map(({ message }) => String(message))
  return { projectId, counts, mapping, report }
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
  ],
  ...['[a,b]', '1.50', 'TRUE', '<b@example.com>', '2026-01-01T00:00:00.000Z Ada\n  text', '\u2028', '\ufeff'],
  ...['\\n', 'null'],
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
  await ada.patch(`/projects/${id}`, { textEdits: 'last-write-wins' })
  // The random writes may have deleted most tasks, or moved them to other projects.
  for (const _ of upTo(6)) await make(ada, '/tasks', { projectId: id, title: 'Task' })
  await make(ada, `/projects/${id}/fields`, { key: 'awkward', name: 'Awkward', type: 'text' })
  for (const { id: taskId } of (await ada.get(`/tasks?projectId=${id}&limit=20`)).body) {
    await make(ada, `/tasks/${taskId}/comments`, { text: randomText(random) })
    await make(ada, `/tasks/${taskId}/subtasks`, { title: randomName(random) })
    const { status } = await ada.patch(`/tasks/${taskId}`, {
      ...{ title: randomName(random), description: randomText(random) },
      externalId: `${[...randomName(random)].slice(0, 150).join('')}${taskId}`,
      fields: { awkward: random.pick(visible)! },
    })
    expect(status).toBe(200)
  }
  for (const start of ['=', '+', '-', '@', "'="])
    await make(ada, '/tasks', { projectId: id, title: `${start}1`, description: `\t${start}` })
  return id
}

/** Reminders of the past, and of the next seconds, are not imported. */
const compared = (text: string) => {
  const near = new Date(Date.now() + 20_000).toISOString()
  return examined(text).map((line) => ({ ...line, ...(String(line.remindAt) < near && { remindAt: null }) }))
}

/** Returns the values of a CSV file that an import of the file into another project keeps. */
function cells(text: string) {
  const rows = parse(text, { bom: true, columns: true }) as Record<string, string>[]
  const ids = rows.map(({ id }) => id!)
  return rows.map(({ id: _, number: __, updatedAt: ___, remindAt: ____, ...row }) => {
    // A row without an author in the file gets the importing account as author.
    const author = row.importedAuthor || row.author!.replace(/ <.*/, '')
    const values = Object.entries(row).filter(([name, cell]) => cell !== '' || !name.startsWith('field.'))
    return {
      ...Object.fromEntries(values.map(([name, cell]) => [name, unescapeFormula(cell)])),
      ...{ author: author === 'Ada' ? '' : author, importedAuthor: '' },
      externalId: /^(docket|csv):/.test(row.externalId!) ? '' : row.externalId,
      blockedBy: row
        .blockedBy!.split('\n')
        .map((one) => ids.indexOf(one))
        .sort(),
      comments: row.comments!.replace(/^(\S+ [^\n]*?) <[^\n]*/gm, '$1'),
    }
  })
}

const rowsIn = (file: string) => ['task', 'subtask', 'comment'].map((kind) => kinds(file, kind).length)

test.each<[string, () => Promise<string>, formats: string[]]>([
  ['with rows of every kind', () => makeEverything(ada, bea), ['docket']],
  [`of random writes (seed ${seed})`, randomProject, ['docket', 'csv']],
])(
  'a project %s, its import, and an import of that import have equal exports',
  async (_, makeProject, formats) => {
    const id = await makeProject()
    const before = await exported(ada, id)
    const files: string[] = []
    for (const format of formats) files.push(await exported(ada, id, `format=${format}`))
    const { projectId, counts, report } = await imported('docket', before)
    const tasks = kinds(before, 'task').length
    expect(tasks).toBeGreaterThan(5)
    expect(counts).toMatchObject({ read: tasks, created: tasks, rejected: 0 })
    expect(report[0]).toStartWith('Lines of these kinds are not imported: member')
    const after = await exported(ada, projectId)
    expect(compared(after)).toEqual(compared(before))
    // The second importer is a member of neither project.
    const thirdId = await newProject(dee)
    await importInto(dee, thirdId, after)
    expect(compared(await exported(dee, thirdId))).toEqual(compared(before))
    // A file changes nothing in its own project, and creates nothing in the other one.
    for (const [n, format] of formats.entries()) {
      await imported(format, files[n]!, id)
      expect(compared(await exported(ada, id))).toEqual(compared(before))
      expect((await imported(format, files[n]!, projectId)).counts.created).toBe(0)
      expect(rowsIn(await exported(ada, projectId))).toEqual(rowsIn(before))
    }
  },
  60_000,
)

test(`the data of a csv file is the same after an export and an import into another project (seed ${seed})`, async () => {
  const id = await randomProject()
  const [all, before] = [await exported(ada, id), await exported(ada, id, 'format=csv')]
  // Spreadsheets run cells that begin with these characters as formulas.
  for (const row of parse(before, { bom: true, columns: true }) as Record<string, string>[])
    for (const [name, cell] of Object.entries(row))
      if (!name.startsWith('field.')) expect(cell).not.toMatch(/^[=+\-@\t\r]/)
  const { projectId, counts, mapping } = await imported('csv', before)
  expect(counts.rejected).toBe(0)
  expect(mapping.columns).toMatchObject({ number: null, updatedAt: null, 'field.awkward': 'field.awkward' })
  expect(cells(await exported(ada, projectId, 'format=csv'))).toEqual(cells(before))
  await imported('docket', all, projectId)
  expect(rowsIn(await exported(ada, projectId))).toEqual(rowsIn(all))
}, 60_000)

test('a part of a csv file keeps blockers that only the project has, and names others in the description', async () => {
  const id = await emptyProject(ada)
  const blocker = await make(ada, '/tasks', { projectId: id, title: 'Blocker' })
  await make(ada, '/tasks', { projectId: id, title: 'Blocked', blockedByIds: [blocker.id] })
  const all = await exported(ada, id, 'format=csv')
  const part = all.replace(/\r\n.*\r\n/, '\r\n')
  expect((await imported('csv', part, id)).counts).toMatchObject({ read: 1, unchanged: 1 })
  expect(await exported(ada, id, 'format=csv')).toBe(all)
  const { projectId } = await imported('csv', part)
  const tasks = async () => (await ada.get(`/tasks?projectId=${projectId}`)).body
  expect(await tasks()).toMatchObject([{ description: `Blocked by: ${blocker.id}`, blockedByIds: [] }])
  await imported('csv', all, projectId)
  const other = (await tasks()).find(({ title }) => title === 'Blocker')!
  const linked = { title: 'Blocked', blockedByIds: [other.id] }
  expect(await tasks()).toContainEqual(expect.objectContaining(linked))
  expect((await imported('csv', part, projectId)).counts).toMatchObject({ read: 1, unchanged: 1 })
})

test('the blockers of a task of a csv file may stand in one line', async () => {
  const id = await emptyProject(ada)
  const blockers = await Promise.all(
    upTo(2).map((n) => make(ada, '/tasks', { projectId: id, title: `Blocker ${n}` })),
  )
  await make(ada, '/tasks', { projectId: id, title: 'Blocked', blockedByIds: blockers.map((one) => one.id) })
  const all = await exported(ada, id, 'format=csv')
  const edited = all.replace(/"(\S{36})\n(\S{36})"/, '"$1, $2"')
  expect(edited).not.toBe(all)
  expect((await imported('csv', edited, id)).counts).toMatchObject({ read: 3, unchanged: 3 })
  expect(await exported(ada, id, 'format=csv')).toBe(all)
})

test('without the members, assignees become description lines; an undo removes all that the import created', async () => {
  const first = await exported(ada, await makeEverything(ada, bea), 'history=true')
  const secondId = await emptyProject(dee)
  const { id } = await importInto(dee, secondId, first)
  const message = 'Lines of these kinds are not imported: member, event'
  expect((await reportOf(dee, id))[0] as unknown).toEqual({
    ...{ row: null, externalId: null, outcome: 'rejected', message },
  })
  const second = await exported(dee, secondId)
  const unassigned = examined(first).map((line) => {
    const { assignee, description } = line as Record<string, Record<string, string> | undefined>
    if (!assignee) return line
    const foot = `Assignee: ${assignee.name} <${assignee.email}>`
    const text = description ? `${String(description)}\n\n---\n${foot}` : foot
    return { ...line, assignee: null, description: text }
  })
  expect(examined(second)).toEqual(unassigned.filter(({ kind }) => kind !== 'event'))
  await dee.post(`/imports/${id}/undo`)
  const undo = async () => (await dee.get(`/imports/${id}`)).body as unknown as { undo: { state: string } }
  await eventually('the end of the undo', async () => (await undo()).undo.state === 'done')
  expect(await undo()).toMatchObject({ undo: { undone: 9, kept: 0 } })
  const [head, ...lines] = linesOf(await exported(dee, secondId))
  expect(head).toMatchObject({ project: { description: null, textEdits: 'last-write-wins' } })
  expect(lines).toEqual([{ kind: 'end', lines: 2 }])
}, 60_000)

test('an import sets textEdits of the file, and never takes the setting back', async () => {
  const id = await emptyProject(ada)
  await ada.patch(`/projects/${id}`, { textEdits: 'if-match' })
  const file = await exported(ada, id)
  const open = file.replace('"textEdits":"if-match"', '"textEdits":"last-write-wins"')
  const projectId = await newProject()
  const settings: unknown[] = []
  for (const one of [open, file, open]) {
    await importInto(ada, projectId, one)
    settings.push(
      ((await ada.get(`/projects/${projectId}`)).body as never as { textEdits: string }).textEdits,
    )
  }
  expect(settings).toEqual(['last-write-wins', 'if-match', 'if-match'])
})

const unchanged = { read: 9, created: 0, updated: 0, unchanged: 9, rejected: 0 }

test.each(['docket', 'csv'])(
  'an export as %s restores the values of tasks in its own project',
  async (format) => {
    const projectId = await makeEverything(ada, bea)
    const whole = await exported(ada, projectId)
    const file = await exported(ada, projectId, `format=${format}`)
    const importAgain = async (more = '') =>
      (await importInto(ada, projectId, file, `source=${format}${more}`)).counts
    expect(await importAgain('&dryRun=true')).toEqual(unchanged)
    const tasks = (await ada.get(`/tasks?projectId=${projectId}`)).body
    const idOf = (title: string) => tasks.find((one) => one.title === title)!.id
    const [bare, commented, full] = [idOf('Of a deleted account'), idOf('Written by Bea'), idOf('Dates')]
    const changed = { title: 'T', status: 'DONE' }
    // The project has `textEdits: "if-match"`, and the import restores the texts without an ETag.
    const ifMatch = { 'if-match': (await ada.get(`/tasks/${bare}`)).headers.get('etag')! }
    expect((await ada.patch(`/tasks/${bare}`, changed, ifMatch)).status).toBe(200)
    await ada.patch(`/tasks/${full}`, { dueDate: null, remindAt: null, assigneeId: null, priority: 'LOW' })
    const [subtask] = (await ada.get(`/tasks/${commented}/subtasks`)).body
    // A CSV file has no ids of subtasks, so the title identifies a subtask.
    const changedSubtask = { completed: false, ...(format === 'docket' && { title: 'Other' }) }
    await ada.patch(`/tasks/subtasks/${subtask!.id}`, changedSubtask)
    const [comment] = (await ada.get(`/tasks/${commented}/comments`)).body
    await ada.patch(`/tasks/comments/${comment!.id}`, { text: 'Changed' })
    expect(await importAgain()).toEqual({ ...unchanged, updated: 3, unchanged: 6 })
    expect(examined(await exported(ada, projectId))).toEqual(examined(whole))
    // A deleted task gets another id, and is created once, with its children.
    await ada.delete(`/tasks/${commented}`)
    for (const created of [1, 0]) {
      expect(await importAgain()).toMatchObject({ created, rejected: 0 })
      expect(rowsIn(await exported(ada, projectId))).toEqual(rowsIn(whole))
    }
  },
  60_000,
)

const queries = ['format=docket', 'format=docket&history=true', 'format=ndjson', 'format=csv']

test(`an export with asOf equals the export that was made at that version (seed ${seed})`, async () => {
  const world = await startRandomWrites(new Random(seed), [ada, bea, cy])
  const made: { projectId: string; version: string; texts: string[] }[] = []
  for (let round = 0; round < cases(3); round++) {
    await writeRandomly(world, 60)
    for (const { id: projectId } of world.projects) {
      const texts = []
      const versions = new Set<string>()
      for (const query of queries) {
        const answer = await ada.get(`/projects/${projectId}/export?${query}`)
        expect(answer.status).toBe(200)
        versions.add(answer.headers.get('docket-version')!)
        texts.push(answer.text)
      }
      // Workers also write, such as reminders.
      if (versions.size === 1) made.push({ projectId, version: [...versions][0]!, texts })
    }
  }
  expect(made.length).toBeGreaterThan(0)
  for (const { projectId: id, version } of made.slice(-2)) {
    const pages = await allPages(ada, `/tasks?projectId=${id}&sort=position&limit=200&asOf=${version}`)
    const lines = linesOf(await exported(ada, id, `format=ndjson&asOf=${version}`))
    expect(lines.map(({ subtasks: _, comments: __, ...task }) => task)).toEqual(pages.flat() as never[])
  }
  for (const { projectId, version, texts } of made)
    for (const [n, query] of queries.entries())
      expect(withoutTime(await exported(ada, projectId, `${query}&asOf=${version}`))).toBe(
        withoutTime(texts[n]!),
      )
}, 60_000)

test('an export with asOf shows a claim whose time is over, because no event had ended the claim', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Queue' })
  const { id } = await make(ada, '/tasks', { projectId, title: 'Draw' })
  // The API allows no lease that ends at once.
  const claim = { name: 'task.claim', input: { id, leaseSeconds: 0 }, caller: { userId: ada.id } }
  await service.services.run(claim)
  await eventually('the end of the claim', async () => (await versionOf(ada, projectId)) === 4)
  const claims = async (version: number) =>
    (await exported(ada, projectId, `asOf=${version}`)).match(/"seq":3/g)
  expect([await claims(2), await claims(3), await claims(4)]).toEqual([null, ['"seq":3'], null])
})

test('an export with asOf needs the events after that version', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Old' })
  for (const title of ['A', 'B', 'C']) await make(ada, '/tasks', { projectId, title })
  await service.services.database.background`delete from events where project_id = ${projectId} and seq <= 3`
  for (const [version, status] of Object.entries({ 1: 410, 2: 410, 3: 200 }))
    expect((await ada.get(`/projects/${projectId}/export?asOf=${version}`)).status).toBe(status)
})
