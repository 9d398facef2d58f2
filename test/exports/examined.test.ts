import { expect, test } from 'bun:test'
import { eventually } from '../races/pair.ts'
import { type Client, invite, make } from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { examined, importInto, makeEverything } from './everything.ts'
import { exported, linesOf } from './scene.ts'

const { service, ada, bea, cy, dee } = await openScene(['Ada', 'Bea', 'Cy', 'Dee'])
service.startWorkers()

const emptyProject = async (owner: Client) => (await make(owner, '/projects', { name: 'Other' })).id
const kinds = (file: string, kind: string) => linesOf(file).filter((line) => line.kind === kind)
const reportOf = async (client: Client, id: string) => (await client.get(`/imports/${id}/report`)).body

test('a project, its import, and an import of that import have equal exports, except for ids and import times', async () => {
  const first = await exported(ada, await makeEverything(ada, bea))
  const copyId = await emptyProject(ada)
  await invite(ada, copyId, bea, 'EDITOR')
  const { id, counts } = await importInto(ada, copyId, first)
  expect(counts).toMatchObject({ read: 9, created: 9, rejected: 0 })
  expect((await reportOf(ada, id)).map(({ message }) => message)).toEqual([
    'Lines of these kinds are not imported: member (1)',
  ])
  const second = await exported(ada, copyId)
  expect(examined(second)).toEqual(examined(first))

  // The second importer is a member of neither project.
  const thirdId = await emptyProject(cy)
  for (const person of [ada, bea]) await invite(cy, thirdId, person)
  await importInto(cy, thirdId, second)
  expect(examined(await exported(cy, thirdId))).toEqual(examined(first))
}, 60_000)

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
  expect(head).toMatchObject({ project: { description: null } })
  expect(lines).toEqual([{ kind: 'end', lines: 2 }])
}, 60_000)

test('an EDITOR imports tasks, and the report lists the parts that only an ADMIN can import', async () => {
  const file = await exported(ada, await makeEverything(ada, bea))
  const projectId = await emptyProject(dee)
  await invite(dee, projectId, cy, 'EDITOR')
  const { id, counts } = await importInto(cy, projectId, file)
  expect(counts).toMatchObject({ created: 9, rejected: 0 })
  const report = await reportOf(cy, id)
  expect(report.map(({ message }) => message)).toContain(
    'The description of the project: This needs the role ADMIN in the project',
  )
}, 60_000)

const isCsv = (format: string) => format === 'csv'
const unchanged = { read: 9, created: 0, updated: 0, unchanged: 9, rejected: 0 }

test.each(['docket', 'csv'])(
  'an export as %s changes nothing in its own project, and restores the values of its tasks',
  async (format) => {
    const projectId = await makeEverything(ada, bea)
    const before = examined(await exported(ada, projectId))
    const file = await exported(ada, projectId, `format=${format}`)
    const importAgain = async (more = '') =>
      (await importInto(ada, projectId, file, `source=${format}${more}`)).counts
    for (const dryRun of [true, false]) expect(await importAgain(`&dryRun=${dryRun}`)).toEqual(unchanged)
    expect(examined(await exported(ada, projectId))).toEqual(before)

    const tasks = (await ada.get(`/tasks?projectId=${projectId}`)).body
    const idOf = (title: string) => tasks.find((one) => one.title === title)!.id
    const [bare, commented, full] = [idOf('Of a deleted account'), idOf('Written by Bea'), idOf('Dates')]
    const filled = {
      ...{ title: 'T', description: 'D', status: 'DONE', dueDate: '2031-01-01', remindAt: '2998-01-01' },
      ...{ assigneeId: ada.id, fields: { cost: 3 }, externalId: 'E', blockedByIds: [full] },
    }
    expect((await ada.patch(`/tasks/${bare}`, filled)).status).toBe(200)
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
  const line = { row: null, externalId: null, outcome: 'rejected', message }
  expect((await reportOf(ada, id))[0] as unknown).toEqual(line)
}, 60_000)
