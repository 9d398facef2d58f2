import { readBatch } from '../../workers/imports/undo-import.ts'
import { type Body, eventually, expireEvents, make, nilId, rowsRead, upTo } from '../kit.ts'
import { comment, fast, openRunScene, perBatch, subtask, task, tasksOf } from './run/scene.ts'

const scene = await openRunScene()
const { newProject, importItems, undo, executeUndo, resultOf, services, sql } = scene
const items = [
  task('1', { labels: ['bug'] }),
  task('2', { fields: { size: 'large' } }),
  task('3'),
  subtask('1', 'Measure'),
  subtask('2', 'Cut'),
  comment('3', 'Oil it'),
]
const done = (undone: number, kept = 0) => ({ undoState: 'done', undone, kept })

/** Imports items into a new project. */
async function begin(given = items, options = {}) {
  const { owner, projectId } = await newProject()
  const { id } = await importItems(owner, projectId, given, options)
  const tasks = await tasksOf(owner, projectId)
  const get = async (path: string) => (await owner.get(path)).body
  return { owner, projectId, id, tasks, get, remaining: () => tasksOf(owner, projectId) }
}

const batchesOf = async (id: string) => {
  const rows = await sql<{ seq: number }[]>`
    select seq::int4 as seq from import_batches where import_id = ${id} order by seq`
  return rows.map(({ seq }) => seq)
}

test('reads few rows for each change, also before Postgres has statistics for the project', async () => {
  const file = upTo(600).map((n) => task(`${n}`, { labels: ['bug'] }))
  const tables = ['events', 'import_batches', 'tasks']
  for (const table of tables) await sql`alter table ${sql(table)} set (autovacuum_enabled = false)`
  await begin(file)
  await sql`analyze ${sql(tables)}`
  const { id, projectId, owner } = await begin(file)
  const [batch] = (await batchesOf(id)).slice(-1)
  await sql.begin(async (transaction) => {
    const tx = transaction as unknown as typeof sql
    const undo = { services, sql: tx, importId: id, projectId, caller: { userId: owner.id } }
    expect((await readBatch(undo, batch!)).length).toBeGreaterThanOrEqual(200)
    for (const table of tables) expect(await rowsRead(tx, table)).toBeLessThan(20 * 200)
  })
})

test('deletes what an import created; the same file can then be imported again', async () => {
  const { owner, projectId, id, get, remaining } = await begin()
  expect(await undo(owner, id)).toEqual({ ...done(3), lines: [] })
  expect(await remaining()).toEqual([])
  for (const path of ['labels', 'fields']) expect(await get(`/projects/${projectId}/${path}`)).toHaveLength(0)
  const again = await importItems(owner, projectId, items)
  expect(again.counts).toMatchObject({ created: 3, updated: 0, unchanged: 0, rejected: 0 })
})

test('keeps a created task as a whole if somebody has changed it since, and reports it', async () => {
  const { owner, id, tasks, get, remaining } = await begin()
  const [first, second, third] = tasks
  await owner.patch(`/tasks/${first!.id}`, { priority: 'HIGH' })
  await make(owner, `/tasks/${third!.id}/comments`, { text: 'In brass' })
  const { lines, ...counts } = await undo(owner, id)
  expect(counts).toEqual(done(1, 2))
  expect(lines.map(({ externalId }) => externalId)).toEqual(['planka:1', 'planka:3', null])
  const changed = 'Somebody has changed the task since'
  expect(lines.map(({ message }) => message)).toEqual([changed, changed, 'Tasks use the label "bug"'])
  expect((await remaining()).map(({ title }) => title)).toEqual(['Task 1', 'Task 3'])
  expect(await get(`/tasks/${first!.id}/subtasks`)).toHaveLength(1)
  expect(await get(`/tasks/${third!.id}/comments`)).toHaveLength(2)
  expect((await owner.get(`/tasks/${second!.id}`)).status).toBe(404)
})

const eventsOf = (taskId: string, type: string) =>
  sql`select seq from events where task_id = ${taskId} and type = ${type}`

test('a new sort key of an imported task is no change of the task', async () => {
  const { owner, projectId, id, tasks } = await begin([task('1'), task('2')])
  const operation = { op: 'task.create', title: '-', after: tasks[0]!.id }
  const operations = Array.from({ length: 300 }, () => operation)
  expect((await owner.post(`/projects/${projectId}/batch`, { operations })).status).toBe(200)
  expect((await eventsOf(tasks[0]!.id, 'task.updated')).length).toBeGreaterThan(0)
  expect(await undo(owner, id)).toEqual({ ...done(2), lines: [] })
})

test('a due date that passes is no change of an imported task', async () => {
  let [begun, isEarly] = [await begin([]), false]
  // If the import takes longer, the time is later.
  for (let ms = 1_000; !isEarly; ms *= 2) {
    const dueDate = new Date(Date.now() + ms).toISOString()
    begun = await begin([task('1', { dueDate })])
    isEarly = new Date().toISOString() < dueDate
  }
  const { owner, projectId, id, tasks } = begun
  const input = { projectId, ids: [tasks[0]!.id] }
  await eventually('the event', async () => {
    await services.run({ name: 'task.record_times', input, caller: { userId: nilId } })
    return (await eventsOf(tasks[0]!.id, 'task.due')).length > 0
  })
  expect(await undo(owner, id)).toEqual({ ...done(1), lines: [] })
})

test('a task that becomes ready is not changed by this', async () => {
  const { owner, projectId, tasks } = await begin([task('1')])
  const { id } = await importItems(owner, projectId, [task('2', { blockedBy: ['1'] })])
  const [, blocked] = await tasksOf(owner, projectId)
  await owner.patch(`/tasks/${tasks[0]!.id}`, { status: 'DONE' })
  const input = { projectId, tasks: [{ id: blocked!.id, eventId: nilId }] }
  await services.run({ name: 'task.record_ready', input, caller: { userId: nilId } })
  expect(await eventsOf(blocked!.id, 'task.ready')).toHaveLength(1)
  expect(await undo(owner, id)).toEqual({ ...done(1), lines: [] })
})

test('a change, or the import of a task, that was undone and redone counts', async () => {
  const { owner, projectId, id, tasks, get, remaining } = await begin()
  const [first, second] = tasks
  await owner.patch(`/tasks/${first!.id}`, { title: 'New title' })
  const [changed] = await eventsOf(first!.id, 'task.updated')
  const [created] = await eventsOf(second!.id, 'task.created')
  for (const event of [changed, created]) {
    const undone = await owner.post(`/projects/${projectId}/undo`, { seq: Number(event!.seq) })
    await owner.post(`/projects/${projectId}/undo`, { seq: JSON.parse(undone.text).version })
  }
  const { lines, ...counts } = await undo(owner, id)
  expect(counts).toEqual(done(2, 1))
  expect((await remaining()).map(({ title }) => title)).toEqual(['New title'])
  expect(await get(`/tasks/${first!.id}/subtasks`)).toHaveLength(1)
  expect(lines.map(({ message }) => message)).toContain('Somebody has changed the task since')
})

test('reports the labels and fields that are kept', async () => {
  const labels = ['bug', 'used']
  const { owner, projectId, id, get } = await begin([task('1', { labels, fields: { size: 'large' } })])
  const list = async (name: string) => (await get(`/projects/${projectId}/${name}`)) as Body[]
  const byName = new Map((await list('labels')).map((label) => [label.name, label.id]))
  const [bug, used] = labels.map((name) => byName.get(name)!)
  const [field] = await list('fields')
  const fields = { size: 'small' }
  await make(owner, '/tasks', { projectId, title: 'Own', labelIds: [used], fields })
  await owner.patch(`/labels/${bug}`, { name: 'defect' })
  await owner.patch(`/fields/${field!.id}`, { name: 'Size' })
  const { lines, ...counts } = await undo(owner, id)
  expect(counts).toEqual(done(1))
  expect(lines.map(({ message }) => message.replace(/\d+/g, 'N')).sort()).toEqual([
    'Tasks use the field "size"',
    'Tasks use the label "used"',
    'The label "bug": Seq N cannot be undone: name changed since by seq N',
  ])
})

test('an undo restores tasks that the import changed, and a second undo replaces the counts and lines of the first', async () => {
  const { owner, projectId, id: first, tasks, get, remaining } = await begin()
  const [, two, three] = tasks.map((row) => row.id)
  const second = await importItems(owner, projectId, [
    task('1', { title: 'New title', labels: ['bug'] }),
    ...items.slice(1),
    comment('2', 'New comment'),
  ])
  expect(second.counts).toEqual({ read: 3, created: 0, updated: 2, unchanged: 1, rejected: 0 })
  await owner.patch(`/tasks/${three}`, { status: 'DONE' })
  expect(await undo(owner, first)).toMatchObject(done(0, 3))
  expect(await undo(owner, second.id)).toMatchObject(done(2))
  const unchanged = tasks.slice(0, 2).map((row) => ({ ...row, updatedAt: expect.any(String) }))
  expect(await remaining()).toEqual([...unchanged, expect.objectContaining({ status: 'DONE' })])
  expect(await get(`/tasks/${two}/comments`)).toHaveLength(0)
  const { lines, ...counts } = await undo(owner, first, perBatch)
  expect(counts).toEqual(done(2, 1))
  expect(lines.map(({ externalId }) => externalId)).toEqual(['planka:3'])
  expect((await remaining()).map(({ id }) => id)).toEqual([three!])
  // A task that somebody has changed and then deleted is not reported.
  await owner.delete(`/tasks/${three}`)
  expect(await undo(owner, first)).toEqual({ ...done(3), lines: [] })
})

test('a second undo does not report a setting that the first undo has taken back', async () => {
  const { owner, projectId } = await newProject()
  await owner.patch(`/projects/${projectId}`, { description: 'Its own' })
  const { id } = await importItems(owner, projectId, [{ kind: 'project', textEdits: 'if-match' }, task('1')])
  const settings = async () => {
    const { body } = await owner.get(`/projects/${projectId}`)
    return [body.description, (body as unknown as { textEdits: string }).textEdits]
  }
  expect(await settings()).toEqual(['Its own', 'if-match'])
  const [one] = await tasksOf(owner, projectId)
  await owner.patch(`/tasks/${one!.id}`, { status: 'DONE' })
  for (const _ of [1, 2]) {
    const { lines } = await undo(owner, id)
    expect(lines.map(({ externalId }) => externalId)).toEqual(['planka:1'])
    expect(await settings()).toEqual(['Its own', 'last-write-wins'])
  }
})

test('keeps a task whose change was undone and redone', async () => {
  const { owner, projectId, id, tasks, get, remaining } = await begin([task('1'), task('2')])
  const [one, two] = tasks.map((row) => row.id) as [string, string]
  for (const taskId of [one, two]) await owner.patch(`/tasks/${taskId}`, { status: 'DONE' })
  for (const taskId of [one, two, two]) {
    const [{ seq }] = (await get(`/tasks/${taskId}/history?limit=1`)) as unknown as [{ seq: number }]
    expect((await owner.post(`/projects/${projectId}/undo`, { seq })).status).toBe(200)
  }
  expect(await undo(owner, id)).toMatchObject({ ...done(1, 1), lines: [{ externalId: 'planka:2' }] })
  expect(await remaining()).toMatchObject([{ id: two, status: 'DONE' }])
})

test('does not report the present title and external id of a task that was moved to another project', async () => {
  const { owner, id, tasks, get } = await begin([task('1'), task('2'), comment('2', 'Oil it')])
  const [one, two] = tasks.map((row) => row.id)
  const { id: elsewhere } = await make(owner, '/projects', { name: 'Elsewhere' })
  await owner.patch(`/tasks/${two}`, { projectId: elsewhere })
  await owner.patch(`/tasks/${two}`, { title: 'A secret', externalId: 'Secret' })
  const { lines, ...counts } = await undo(owner, id)
  expect(counts).toEqual(done(1, 1))
  const message = 'Somebody has changed the task since'
  expect(lines).toMatchObject([{ externalId: 'planka:2', message }])
  expect((await owner.get(`/tasks/${one}`)).status).toBe(404)
  expect(await get(`/tasks/${two}/comments`)).toHaveLength(1)
})

/** Expires the events of a project up to a seq. */
async function expire(projectId: string, seq: number) {
  await sql`update events set at = now() - interval '9 days' where project_id = ${projectId} and seq <= ${seq}`
  await expireEvents(sql, 7, fast)
}

const five = upTo(5).map((n) => task(String(n)))

test('an undo of an import whose events have expired fails, also in part, and changes nothing', async () => {
  const { owner, projectId, id, remaining } = await begin(five, { batchRows: 2 })
  const [first, second, third] = await batchesOf(id)
  // Events from before the import may expire.
  await expire(projectId, first! - 1)
  for (const seq of [first!, second!, third! + 1]) {
    await expire(projectId, seq)
    expect(await undo(owner, id)).toEqual({ ...done(0), undoState: 'failed', lines: [] })
    expect((await resultOf(id)).error).toBe('The import cannot be undone, because its history has expired')
    expect(await remaining()).toHaveLength(5)
  }
})

test('an undo fails at a batch whose events expire while the undo runs, and does not need earlier events', async () => {
  const { owner, projectId, id, remaining } = await begin(five, { batchRows: 2 })
  const [first] = await batchesOf(id)
  await expire(projectId, first! - 1)
  let slices = 0
  const isOver = () => ++slices > 0
  const result = await undo(owner, id, { ...fast, isOver }, async (data, throttle) => {
    if (slices === 2) await expire(projectId, first!)
    await executeUndo(data, throttle)
  })
  expect(result).toMatchObject({ ...done(3), undoState: 'failed' })
  const error = 'The rest of the import cannot be undone, because its history has expired'
  expect((await resultOf(id)).error).toBe(error)
  expect(await remaining()).toHaveLength(2)
})
