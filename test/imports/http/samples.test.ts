import { csvSamples, jsonSamples, textOf } from '../readers/samples.ts'
import { openImporting } from './importing.ts'

const { importFile } = await openImporting()

type Read = Awaited<ReturnType<typeof importFile>>
type Row = Record<string, unknown>

/** A row that the file gives no time gets the time of the import. */
const timeOf = ({ createdAt }: Row, { startedAt }: Read) =>
  String(createdAt) < startedAt ? { createdAt } : {}

/** Returns what a file becomes: rows without ids, with the titles of blockers in place of their ids. */
async function resultOf(read: Read) {
  const { owner, projectId, counts, mapping, tasks, lines } = read
  const list = async (path: string) => (await owner.get(path)).body as unknown as Row[]
  const titles = new Map(tasks.map(({ id, title }) => [id, title]))
  const sorted = (rows: Row[], key: string) =>
    rows.toSorted((a, b) => String(a[key]).localeCompare(String(b[key]), 'en'))
  const { description } = (await owner.get(`/projects/${projectId}`)).body
  return {
    ...{ counts, mapping, lines, description },
    labels: sorted(await list(`/projects/${projectId}/labels`), 'name').map(({ name, color }) => [
      name,
      color,
    ]),
    fields: sorted(await list(`/projects/${projectId}/fields`), 'key').map(
      ({ key, name, type, options }) => ({ key, name, type, options }),
    ),
    tasks: tasks.map((task) => ({
      ...{ title: task.title, externalId: task.externalId, description: task.description },
      ...{ status: task.status, priority: task.priority, dueDate: task.dueDate, ...timeOf(task, read) },
      ...{ importedAuthor: task.importedAuthor, labels: task.labels, fields: task.fields },
      blockedBy: (task.blockedByIds as string[]).map((id) => titles.get(id)),
      subtasks: (task.subtasks as Row[]).map((one) => ({
        ...{ title: one.title, completed: one.completed, ...timeOf(one, read) },
      })),
      comments: (task.comments as Row[]).map((one) => ({
        ...{ text: one.text, importedAuthor: one.importedAuthor, ...timeOf(one, read) },
      })),
    })),
  }
}

const results = new URL('../results/', import.meta.url)

test.each([...jsonSamples, ...csvSamples])(
  '$file becomes exactly the expected project, and a second import changes nothing',
  async ({ source, file }) => {
    const text = await textOf(file)
    const first = await importFile(source, text)
    const expected = await Bun.file(new URL(`${file}.json`, results)).json()
    expect(JSON.parse(JSON.stringify(await resultOf(first)))).toEqual(expected)
    const again = await importFile(source, text, { into: first })
    const read = first.counts.read!
    expect(again.counts).toEqual({ read, created: 0, updated: 0, unchanged: read, rejected: 0 })
    expect(again.tasks).toEqual(first.tasks)
  },
)

const times = ['2024-03-03', '2024-01-01', '2024-02-02', '2024-01-01'].map((day) => `${day}T00:00:00.000Z`)
const trelloId = (n: number) => `${(Date.parse(times[n]!) / 1000).toString(16)}${n}`.padEnd(24, '0')
const checklistsWith = (position: string, name: string, parts: (numbers: number[]) => object) => [
  { ...{ id: 'k2', idCard: 'c', cardId: 'c', [name]: 'B', [position]: 2 }, ...parts([3, 2]) },
  { ...{ id: 'k1', idCard: 'c', cardId: 'c', [name]: 'A', [position]: 1 }, ...parts([1, 0]) },
]
const itemsWith = (position: string, name: string, checklist: string) =>
  [3, 0, 2, 1].map((n) => ({
    ...{ id: `i${n}`, cardId: 'c', [name]: `${n}`, [position]: n, createdAt: times[n] },
    [checklist]: n < 2 ? 'k1' : 'k2',
  }))

/** Each file has two checklists, whose items have positions in another order than times. */
const checklists = {
  trello: {
    cards: [{ id: 'c', name: 'Draw' }],
    checklists: checklistsWith('pos', 'name', (numbers) => ({
      checkItems: numbers.map((n) => ({ id: trelloId(n), name: `${n}`, pos: n, idMember: 'm' })),
    })),
    members: [{ id: 'm', fullName: 'Ada' }],
  },
  planka: {
    included: {
      cards: [{ id: 'c', name: 'Draw', listId: 'l' }],
      taskLists: checklistsWith('position', 'name', () => ({})),
      tasks: itemsWith('position', 'name', 'taskListId'),
    },
  },
  wekan: {
    cards: [{ _id: 'c', title: 'Draw' }],
    checklists: checklistsWith('sort', 'title', () => ({})),
    checklistItems: itemsWith('sort', 'title', 'checklistId'),
  },
}

test.each(Object.entries(checklists))(
  'the checklists of %s keep their order and times, also in a second import',
  async (source, file) => {
    const first = await importFile(source, file)
    const subtasks = first.tasks[0]!.subtasks as Row[]
    expect(subtasks.map(({ title, createdAt }) => [title, createdAt])).toEqual(
      ['A: 0', 'A: 1', 'B: 2', 'B: 3'].map((title, n) => [title, times[n]!]),
    )
    expect((await importFile(source, file, { into: first })).tasks[0]!.subtasks).toEqual(subtasks)
  },
)

test('the mapping takes precedence over the categories of Jira and the dates of Linear', async () => {
  const statusesOf = async (source: 'jira' | 'linear', mapping: object) => {
    const { tasks } = await importFile(source, await textOf(`${source}.csv`), { mapping })
    return tasks.map(({ title, status }) => [title, status])
  }
  const statuses = { 'Waiting for brass': 'TODO', Done: 'IN_PROGRESS', 'In Progress': null }
  const ofJira = await statusesOf('jira', { statuses })
  expect(ofJira).toContainEqual(['Cast the frame', 'TODO'])
  expect(ofJira).toContainEqual(['Build the mill', 'IN_PROGRESS'])
  expect(ofJira).not.toContainEqual([expect.anything(), 'DONE'])
  const canceled = (await statusesOf('linear', {})).filter(([, status]) => status === 'DONE').length
  const mapped = await statusesOf('linear', { statuses: { Canceled: 'TODO' } })
  expect(mapped.filter(([, status]) => status === 'DONE')).toHaveLength(canceled - 1)
})

test('keeps the time of a comment of Todoist', async () => {
  const row = 'note,Done today,,,Ada (1),2025-10-05T09:30:00.000000Z'
  const file = `TYPE,CONTENT,PRIORITY,INDENT,AUTHOR,DATE\ntask,Oil,4,1,,\n${row}\n`
  const { tasks } = await importFile('todoist', file)
  const comment = { text: 'Done today', createdAt: '2025-10-05T09:30:00.000Z' }
  expect(tasks).toMatchObject([{ comments: [comment] }])
})
