import { eventually, make, nilId } from '../../kit.ts'
import { openRunScene, tasksOf } from '../run/scene.ts'
import { comment, subtask, task } from '../run/items.ts'

const { newProject, importItems, undo, services, sql } = await openRunScene()
const items = [
  task('1', { labels: ['bug'] }),
  task('2', { fields: { size: 'large' } }),
  task('3'),
  subtask('1', 'Measure'),
  subtask('2', 'Cut'),
  comment('3', 'Oil it'),
]

test('deletes what an import created; the same file can then be imported again', async () => {
  const { owner, projectId } = await newProject()
  const { id } = await importItems(owner, projectId, items)
  expect(await undo(owner, id)).toEqual({ undoState: 'done', undone: 3, kept: 0, lines: [] })
  expect(await tasksOf(owner, projectId)).toEqual([])
  for (const path of ['labels', 'fields'])
    expect((await owner.get(`/projects/${projectId}/${path}`)).text).toBe('[]')
  const again = await importItems(owner, projectId, items)
  expect(again.counts).toMatchObject({ created: 3, updated: 0, unchanged: 0, rejected: 0 })
})

test('keeps a created task as a whole if somebody has changed it since, and reports it', async () => {
  const { owner, projectId } = await newProject()
  const { id } = await importItems(owner, projectId, items)
  const [first, second, third] = await tasksOf(owner, projectId)
  for (let n = 0; n < 7; n++) await owner.patch(`/tasks/${first!.id}`, { priority: n % 2 ? 'LOW' : 'HIGH' })
  await make(owner, `/tasks/${third!.id}/comments`, { text: 'In brass' })
  const { lines, ...counts } = await undo(owner, id)
  expect(counts).toEqual({ undoState: 'done', undone: 1, kept: 2 })
  expect(lines.map(({ externalId }) => externalId)).toEqual(['planka:1', 'planka:3', null])
  expect(lines.map(({ message }) => message.replace(/(?<=seq .*)\d+(?! more)/g, 'N'))).toEqual([
    'Somebody has changed the task "Task 1" since: seq N, N, N, N, N and 2 more',
    'Somebody has changed the task "Task 3" since: seq N',
    'Tasks have the label "bug"',
  ])
  expect((await tasksOf(owner, projectId)).map(({ title }) => title)).toEqual(['Task 1', 'Task 3'])
  expect((await owner.get(`/tasks/${first!.id}/subtasks`)).body).toHaveLength(1)
  expect((await owner.get(`/tasks/${third!.id}/comments`)).body).toHaveLength(2)
  expect((await owner.get(`/tasks/${second!.id}`)).status).toBe(404)
})

test('a new sort key of an imported task is no change of the task', async () => {
  const { owner, projectId } = await newProject()
  const { id } = await importItems(owner, projectId, [task('1'), task('2')])
  const [one] = await tasksOf(owner, projectId)
  const operation = { op: 'task.create', title: '-', after: one!.id }
  const { status } = await owner.post(`/projects/${projectId}/batch`, {
    operations: Array.from({ length: 300 }, () => operation),
  })
  expect(status).toBe(200)
  const respaced = await sql`select from events where task_id = ${one!.id} and type = 'task.updated'`
  expect(respaced.length).toBeGreaterThan(0)
  expect(await undo(owner, id)).toEqual({ undoState: 'done', undone: 2, kept: 0, lines: [] })
})

test('a due date that passes is no change of an imported task', async () => {
  const { owner, projectId } = await newProject()
  let [importId, taskId, isEarly] = ['', '', false]
  // If the import takes longer, the time is later.
  for (let ms = 1_000; !isEarly; ms *= 2) {
    const dueDate = new Date(Date.now() + ms).toISOString()
    importId = (await importItems(owner, projectId, [task(String(ms), { dueDate })])).id
    taskId = (await tasksOf(owner, projectId)).at(-1)!.id
    isEarly = new Date().toISOString() < dueDate
  }
  const request = {
    name: 'task.record_times',
    input: { projectId, ids: [taskId] },
    caller: { userId: nilId },
  }
  await eventually('the event', async () => {
    await services.run(request)
    return (await sql`select from events where task_id = ${taskId} and type = 'task.due'`).length > 0
  })
  expect(await undo(owner, importId)).toEqual({ undoState: 'done', undone: 1, kept: 0, lines: [] })
})

test('a task that becomes ready is not changed by this', async () => {
  const { owner, projectId } = await newProject()
  await importItems(owner, projectId, [task('1')])
  const { id: importId } = await importItems(owner, projectId, [task('2', { blockedBy: ['1'] })])
  const [blocker, blocked] = await tasksOf(owner, projectId)
  await owner.patch(`/tasks/${blocker!.id}`, { status: 'DONE' })
  const input = { projectId, tasks: [{ id: blocked!.id, eventId: nilId }] }
  await services.run({ name: 'task.record_ready', input, caller: { userId: nilId } })
  expect(await sql`select from events where task_id = ${blocked!.id} and type = 'task.ready'`).toHaveLength(1)
  expect(await undo(owner, importId)).toEqual({ undoState: 'done', undone: 1, kept: 0, lines: [] })
})

test('reports the labels and fields that are kept, but no deleted ones', async () => {
  const { owner, projectId } = await newProject()
  const labels = ['bug', 'old', 'used']
  const { id } = await importItems(owner, projectId, [task('1', { labels, fields: { size: 'large' } })])
  const [bug, old, used] = (await owner.get(`/projects/${projectId}/labels`)).body.sort((a, b) =>
    String(a.name).localeCompare(String(b.name)),
  )
  const [field] = (await owner.get(`/projects/${projectId}/fields`)).body
  const fields = { size: 'small' }
  await make(owner, '/tasks', { projectId, title: 'Own', labelIds: [used!.id, old!.id], fields })
  await owner.patch(`/labels/${bug!.id}`, { name: 'defect' })
  await owner.patch(`/fields/${field!.id}`, { name: 'Size' })
  await owner.delete(`/labels/${old!.id}`)
  const { lines, ...counts } = await undo(owner, id)
  expect(counts).toEqual({ undoState: 'done', undone: 1, kept: 0 })
  expect(lines.map(({ message }) => message.replace(/\d+/g, 'N')).sort()).toEqual([
    'Tasks have the label "used"',
    'Tasks have values of the field "Size"',
    'The label "defect": Seq N cannot be undone: name changed since by seq N',
  ])
})

test('restores the tasks that a second import changed, after which the first import can be undone', async () => {
  const { owner, projectId } = await newProject()
  const first = await importItems(owner, projectId, items)
  const before = await tasksOf(owner, projectId)
  const { id, counts } = await importItems(owner, projectId, [
    task('1', { title: 'New title', labels: ['bug'] }),
    ...items.slice(1),
    comment('2', 'New comment'),
  ])
  expect(counts).toEqual({ read: 3, created: 0, updated: 2, unchanged: 1, rejected: 0 })
  expect(await undo(owner, id)).toMatchObject({ undoState: 'done', undone: 2, kept: 0 })
  const withoutTimes = (rows: object[]) => rows.map((row) => ({ ...row, updatedAt: '' }))
  expect(withoutTimes(await tasksOf(owner, projectId))).toEqual(withoutTimes(before))
  expect((await owner.get(`/tasks/${before[1]!.id}/comments`)).text).toBe('[]')
  expect(await undo(owner, first.id)).toEqual({ undoState: 'done', undone: 3, kept: 0, lines: [] })
  expect(await tasksOf(owner, projectId)).toEqual([])
})

test('a second undo does not report a setting that the first undo has taken back', async () => {
  const { owner, projectId } = await newProject()
  await owner.patch(`/projects/${projectId}`, { description: 'Its own' })
  const { id } = await importItems(owner, projectId, [
    { kind: 'project', row: 0, textEdits: 'if-match' },
    task('1'),
  ])
  const settings = async () => (await owner.get(`/projects/${projectId}`)).body
  expect(await settings()).toMatchObject({ description: 'Its own', textEdits: 'if-match' } as never)
  const [one] = await tasksOf(owner, projectId)
  await owner.patch(`/tasks/${one!.id}`, { status: 'DONE' })
  for (const _ of [1, 2]) {
    const { lines } = await undo(owner, id)
    expect(lines.map(({ externalId }) => externalId)).toEqual(['planka:1'])
    expect(await settings()).toMatchObject({ description: 'Its own', textEdits: 'last-write-wins' } as never)
  }
})

test('a second undo replaces the counts and the lines of the first undo', async () => {
  const { owner, projectId } = await newProject()
  const first = await importItems(owner, projectId, items)
  const changed = [task('1', { title: 'New title', labels: ['bug'] }), ...items.slice(1), comment('2', 'New')]
  const second = await importItems(owner, projectId, changed)
  const [, , third] = await tasksOf(owner, projectId)
  await owner.patch(`/tasks/${third!.id}`, { status: 'DONE' })
  expect(await undo(owner, first.id)).toMatchObject({ undoState: 'done', undone: 0, kept: 3 })
  expect(await undo(owner, second.id)).toMatchObject({ undoState: 'done', undone: 2, kept: 0 })
  const perBatch = { batchRows: 1, pauseMs: 0, isOver: () => true }
  const { lines, ...counts } = await undo(owner, first.id, perBatch)
  expect(counts).toEqual({ undoState: 'done', undone: 2, kept: 1 })
  expect(lines.map(({ externalId }) => externalId)).toEqual(['planka:3'])
  expect((await tasksOf(owner, projectId)).map(({ id }) => id)).toEqual([third!.id])
  await owner.delete(`/tasks/${third!.id}`)
  expect(await undo(owner, first.id)).toEqual({ undoState: 'done', undone: 3, kept: 0, lines: [] })
})

test('keeps a task whose change was undone and redone', async () => {
  const { owner, projectId } = await newProject()
  const { id } = await importItems(owner, projectId, [task('1'), task('2')])
  const [one, two] = await tasksOf(owner, projectId)
  for (const { id } of [one!, two!]) await owner.patch(`/tasks/${id}`, { status: 'DONE' })
  const latest = async (task: { id?: unknown }) =>
    JSON.parse((await owner.get(`/tasks/${task.id}/history?limit=1`)).text)[0].seq
  const undoLatest = async (task: { id?: unknown }) =>
    expect((await owner.post(`/projects/${projectId}/undo`, { seq: await latest(task) })).status).toBe(200)
  await undoLatest(one!)
  await undoLatest(two!)
  await undoLatest(two!)
  expect(await undo(owner, id)).toMatchObject({ undone: 1, kept: 1, lines: [{ externalId: 'planka:2' }] })
  expect(await tasksOf(owner, projectId)).toMatchObject([{ id: two!.id, status: 'DONE' }])
})

test('does not report a task that somebody has changed and then deleted', async () => {
  const { owner, projectId } = await newProject()
  const { id } = await importItems(owner, projectId, [task('1')])
  const [one] = await tasksOf(owner, projectId)
  await owner.patch(`/tasks/${one!.id}`, { status: 'DONE' })
  await owner.delete(`/tasks/${one!.id}`)
  expect(await undo(owner, id)).toEqual({ undoState: 'done', undone: 1, kept: 0, lines: [] })
})

test('does not report the present title and external id of a task that was moved to another project', async () => {
  const { owner, projectId } = await newProject()
  const { id } = await importItems(owner, projectId, [task('1'), task('2'), comment('2', 'Oil it')])
  const [one, two] = await tasksOf(owner, projectId)
  const { id: elsewhere } = await make(owner, '/projects', { name: 'Elsewhere' })
  await owner.patch(`/tasks/${two!.id}`, { projectId: elsewhere })
  await owner.patch(`/tasks/${two!.id}`, { title: 'A secret', externalId: 'Secret' })
  const { lines, ...counts } = await undo(owner, id)
  expect(counts).toEqual({ undoState: 'done', undone: 1, kept: 1 })
  expect(lines.map(({ externalId, message }) => [externalId, message])).toEqual([
    ['planka:2', 'Somebody has moved the task to another project'],
  ])
  expect((await owner.get(`/tasks/${one!.id}`)).status).toBe(404)
  expect((await owner.get(`/tasks/${two!.id}/comments`)).body).toHaveLength(1)
})
