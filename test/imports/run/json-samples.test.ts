import { expect, test } from 'bun:test'
import { openRunImport } from '../../../workers/imports/run-import.ts'
import { samples, textOf } from '../readers/json-samples.ts'
import type { Person } from '../../support/client.ts'
import { openRunScene, tasksOf } from './scene.ts'

const { services, sql, newProject, queue, work, resultOf } = await openRunScene()
const execute = openRunImport(services)

async function importFile(owner: Person, projectId: string, source: string, text: string) {
  const id = await queue(owner, projectId, text)
  await sql`update imports set source = ${source} where id = ${id}`
  await work(id, undefined, execute)
  return resultOf(id)
}

test.each([...samples])(
  'imports $file, and a second import of the file changes nothing',
  async ({ source, file }) => {
    const { owner, projectId } = await newProject()
    const text = await textOf(file)
    const first = await importFile(owner, projectId, source, text)
    expect(first).toMatchObject({
      state: 'done',
      error: null,
      counts: { updated: 0, unchanged: 0, rejected: 0 },
    })
    const { read, created } = first.counts
    expect(created).toBe(read)
    const tasks = await tasksOf(owner, projectId)
    expect(tasks.length).toBeGreaterThan(0)
    const ids = (tasks as unknown as { externalId: string }[]).map(({ externalId }) => externalId)
    expect(ids.filter((id) => !id.startsWith(`${source}:`))).toEqual([])
    const again = await importFile(owner, projectId, source, text)
    expect(again).toMatchObject({
      state: 'done',
      counts: { read, created: 0, updated: 0, unchanged: read, rejected: 0 },
    })
    expect(await tasksOf(owner, projectId)).toEqual(tasks)
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
      checkItems: numbers.map((n) => ({
        ...{ id: trelloId(n), name: `${n}`, pos: n },
        ...(n === 1 && { idMember: 'm' }),
      })),
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
    const { owner, projectId } = await newProject()
    await importFile(owner, projectId, source, JSON.stringify(file))
    const [draw] = await tasksOf(owner, projectId)
    const subtasks = (await owner.get(`/tasks/${draw!.id}/subtasks`)).body
    expect(subtasks.map(({ title, createdAt }) => [title, createdAt])).toEqual(
      ['A: 0', 'A: 1', 'B: 2', 'B: 3'].map((title, n) => [title, times[n]!]),
    )
    await importFile(owner, projectId, source, JSON.stringify(file))
    expect((await owner.get(`/tasks/${draw!.id}/subtasks`)).body).toEqual(subtasks)
  },
)

test('a Trello board keeps its order, checklists, comments, fields and notes', async () => {
  const { owner, projectId } = await newProject()
  const { lines } = await importFile(owner, projectId, 'trello', await textOf('trello.json'))
  const tasks = await tasksOf(owner, projectId)
  expect(tasks.map(({ title }) => title)).toEqual(['Draw the plate', 'Polish', 'Order brass'])
  expect(tasks.map(({ status }) => status)).toEqual(['TODO', 'TODO', 'DONE'])
  const [draw] = tasks
  expect(draw).toMatchObject({
    ...{ createdAt: '2023-11-14T22:14:20.000Z', dueDate: '2024-01-31T17:00:00.000Z' },
    fields: { estimate: 2.5, size: 'large', deadline: '2024-02-01', estimate_2: true },
    description: expect.stringContaining('Also assigned: grace'),
  })
  expect((await owner.get(`/tasks/${draw!.id}/subtasks`)).body).toMatchObject([
    { title: 'Tools: Pen', completed: true },
    { title: 'Paper: A1', completed: false },
  ])
  expect((await owner.get(`/tasks/${draw!.id}/comments`)).body).toMatchObject([
    { text: 'Oil it too', importedAuthor: 'Grace Hopper', createdAt: '2023-11-15T10:00:00.000Z' },
  ])
  const messages = lines.map(({ message }) => message).join('\n')
  expect(messages).toContain('has only the date of 2024-02-01T09:00:00.000Z')
})
