import { make, makeTasks, purgeProject, runBatch, versionOf } from '../kit.ts'
import { fill } from './fill.ts'
import { costOf, costOfGet, openExplained } from './plans.ts'

const tasks = 300
const { sql, owner } = await openExplained()

// Postgres expects one row of a project that was created after the last ANALYZE, if it then saw few projects.
for (const name of ['Older', 'Oldest'])
  await fill(sql, (await make(owner, '/projects', { name })).id, 5_000, owner.id)
await sql`analyze tasks, events`

const { id: projectId } = await make(owner, '/projects', { name: 'Young' })
const batch = (operations: object[]) => runBatch(owner, projectId, operations)
const ids = (await makeTasks(owner, projectId, tasks)).map(({ id }) => id)
const version = await versionOf(owner, projectId)
await batch(ids.map((taskId) => ({ op: 'comment.create', taskId, text: 'Talk' })))
await batch(ids.map((id) => ({ op: 'task.update', id, title: 'Changed', blockedByIds: [ids[0]!] })).slice(1))

test('an export of a past version reads few rows for each task', async () => {
  const { rows } = await costOfGet(owner, `/projects/${projectId}/export?asOf=${version}`)
  expect(rows).toBeGreaterThan(tasks)
  expect(rows).toBeLessThan(tasks * 60)
})

test('a page of tasks does not read all tasks of a project for each task with blockers', async () => {
  // Postgres expects few tasks of each project if most projects are small.
  await sql`insert into tasks (id, project_id, number, title, status, priority, created_at, updated_at, event_id)
    select uuidv7(), p, n, 'Task', 'TODO', 'LOW', now(), now(), uuidv7()
    from (select uuidv7() as p from generate_series(1, 3000)) p, generate_series(1, 4) n`
  await sql`vacuum analyze tasks`
  const { rows } = await costOfGet(owner, `/tasks?projectId=${projectId}&limit=200`)
  expect(rows).toBeGreaterThan(200)
  expect(rows).toBeLessThan(200 * 10)
})

test('the purge of a project does not read all its events for each batch', async () => {
  await owner.delete(`/projects/${projectId}`)
  const { rows } = await costOf(() => purgeProject(sql, projectId, { batchRows: 20, pauseMs: 0 }))
  expect(rows).toBeGreaterThan(tasks)
  expect(rows).toBeLessThan(tasks * 40)
})
