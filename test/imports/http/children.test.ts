import { openImporting } from './importing.ts'

const { importFile } = await openImporting()
const csv = (...rows: string[]) => rows.map((row) => `${row}\n`).join('')

test('a sub-task that becomes a task names its parent, and the parent names it', async () => {
  const jira = csv(
    'Summary,Issue key,Issue id,Issue Type,Parent id,Description',
    'Build the mill,MILL-1,1,Story,,In brass',
    'Cast the frame,MILL-2,2,Sub-task,1,In two parts',
    'Melt brass,MILL-3,3,Sub-task,1,',
  )
  const { tasks, messages } = await importFile('jira', jira)
  const reason = 'because it has sub-items, comments or a description'
  expect(messages.join('\n')).toContain(`The sub-item of "Build the mill" became a task, ${reason}`)
  expect(tasks).toMatchObject([
    {
      description:
        'In brass\n\n---\nSub-item: MILL-2 Cast the frame\nSubtask "Melt brass": Key: MILL-3; Issue Type: Sub-task',
      subtasks: [{ title: 'Melt brass' }],
    },
    { description: 'In two parts\n\n---\nParent: MILL-1' },
  ])
  const todoist = csv('TYPE,CONTENT,DESCRIPTION,INDENT', 'task,Build,,1', 'task,Cast,In parts,2')
  expect((await importFile('todoist', todoist)).tasks).toMatchObject([
    { description: 'Sub-item: Cast' },
    { description: 'In parts\n\n---\nParent: Build' },
  ])
  const asana = csv('Task ID,Name,Notes,Parent task', '11,Build,,', '12,Cast,In parts,Build')
  expect((await importFile('asana', asana)).tasks).toMatchObject([
    { description: 'Sub-item: 12 Cast' },
    { description: 'In parts\n\n---\nParent: 11' },
  ])
  const clickUp = csv('Task ID,Task Name,Task Content,Parent ID', 'a1,Build,null,null', 'a2,Cast,In parts,a1')
  const first = await importFile('csv', clickUp)
  expect(first.tasks).toMatchObject([
    { description: 'Sub-item: a2 Cast' },
    { description: 'In parts\n\n---\nParent: a1' },
  ])
  expect((await importFile('csv', clickUp, { into: first })).counts).toMatchObject({
    unchanged: 2,
    updated: 0,
  })
})

test('counts a sub-item that is rejected as a duplicate', async () => {
  const file = csv('ID,Title,Parent', '1,Build,', '2,Cast,1', '2,Melt,1')
  const { counts, tasks, messages } = await importFile('csv', file)
  expect(counts).toEqual({ read: 2, created: 1, updated: 0, unchanged: 0, rejected: 1 })
  expect(tasks).toMatchObject([{ subtasks: [{ title: 'Cast' }] }])
  expect(messages).toEqual(['Row 2 has the same id'])
})

test('a task and a comment from the future are not after later ones, and are reported', async () => {
  const file = csv('ID,Title,Created,Comments', '1,Draw,2099-01-01,"2099-01-01T00:00:00.000Z Ada\n  Later"')
  const first = await importFile('csv', file)
  const [task] = first.tasks
  await first.owner.post(`/tasks/${task!.id}/comments`, { text: 'Now' })
  const { tasks, counts } = await importFile('csv', file, { into: first })
  expect(counts).toMatchObject({ unchanged: 1 })
  const comments = tasks[0]!.comments as { text: string; createdAt: string }[]
  expect(comments.map(({ text }) => text)).toEqual(['Later', 'Now'])
  expect(comments[0]!.createdAt < comments[1]!.createdAt).toBe(true)
  expect(String(task!.createdAt) < comments[1]!.createdAt).toBe(true)
  expect(first.messages).toEqual(
    ['task', 'comment'].map(
      (kind) =>
        `The time 2099-01-01T00:00:00.000Z of the ${kind} is in the future: it was replaced by the time of the import`,
    ),
  )
})

test('reports subtasks and comments whose task is not in the file', async () => {
  const board = {
    lists: [{ id: 'l', name: 'To do' }],
    cards: [{ id: 'c', name: 'Draw', idList: 'l' }],
    checklists: [
      { id: 'k', idCard: 'gone', name: 'A', checkItems: [1, 2].map((n) => ({ id: `i${n}`, name: 'x' })) },
    ],
  }
  const { counts, messages } = await importFile('trello', board)
  expect(counts).toMatchObject({ read: 1, created: 1 })
  expect(messages).toEqual(Array(2).fill('The task gone of this subtask is not in the file'))
})

test('a task with a thousand comments has all of them, in their order', async () => {
  const times = Array.from({ length: 1_000 }, (_, n) => new Date(1_600_000_000_000 + n * 1_000).toISOString())
  const cells = times.map((time, n) => `${time} Ada\n  Comment ${n}`).join('\n')
  const first = await importFile('csv', csv('ID,Title,Comments', '0,First,', `1,Draw,"${cells}"`, '2,Last,'))
  const id = first.tasks[1]!.id
  const comments: string[] = []
  for (let path: string | undefined = `/tasks/${id}/comments?limit=200`; path;) {
    const { body, headers } = await first.owner.get(path)
    comments.push(...body.map(({ text }) => text))
    path = /<[^>]*(\/tasks[^>]*)>/.exec(headers.get('link') ?? '')?.[1]
  }
  expect(comments).toEqual(times.map((_, n) => `Comment ${n}`))
})
