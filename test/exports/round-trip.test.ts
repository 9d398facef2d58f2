import { expect, test } from 'bun:test'
import { parse } from 'csv-parse/sync'
import { unescapeFormula } from '../../modules/exports/cells.ts'
import { Random } from '../faults/random.ts'
import { startRandomWrites, writeRandomly } from '../past/random-writes.ts'
import { upTo } from '../races/pair.ts'
import { invite, make } from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { examined, importInto } from './everything.ts'
import { exported, linesOf } from './scene.ts'

const { service, ada, bea, cy } = await openScene(['Ada', 'Bea', 'Cy'])
service.startWorkers()

async function newProject(): Promise<string> {
  const { id } = await make(ada, '/projects', { name: 'Other' })
  for (const person of [bea, cy]) await invite(ada, id, person, 'EDITOR')
  return id
}

/** Imports a file into the project, by default a new one with the same members. */
async function imported(source: string, file: string, into?: string) {
  const projectId = into ?? (await newProject())
  const { error, counts } = await importInto(ada, projectId, file, `source=${source}`)
  expect(error).toBeNull()
  return { projectId, counts }
}

const awkward = [
  ...[
    '=1+1',
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

test(`a project is the same after an export as docket and an import into another project (seed ${seed})`, async () => {
  const id = await randomProject()
  const before = await exported(ada, id)
  const { projectId, counts } = await imported('docket', before)
  const tasks = linesOf(before).filter(({ kind }) => kind === 'task').length
  expect(tasks).toBeGreaterThan(5)
  expect(counts).toMatchObject({ read: tasks, created: tasks, rejected: 0 })
  const after = await exported(ada, projectId)
  expect(compared(after)).toEqual(compared(before))
  // The file changes nothing in its own project, and creates nothing in the other one.
  await imported('docket', before, id)
  expect(compared(await exported(ada, id))).toEqual(compared(before))
  expect((await imported('docket', before, projectId)).counts.created).toBe(0)
  expect(linesOf(await exported(ada, projectId))).toHaveLength(linesOf(after).length)
}, 60_000)

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
  const { projectId, counts } = await imported('csv', before)
  expect(counts.rejected).toBe(0)
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
