import { maxScannedTasks } from '../../modules/task-lists/list-rows.ts'
import { firstScannedTasksOfAll, maxScannedTasksOfAll } from '../../modules/task-lists/list.ts'
import { make } from '../kit.ts'
import { openExplained, readPages } from './plans.ts'

const sizes = { projects: 100, tasksEach: 300, long: 5_000 }
const { sql, owner } = await openExplained()
const { id: long } = await make(owner, '/projects', { name: 'Long' })

/** One task of 250 has no label, and one of 30 is ready. The tasks of projects 1 to 50 are older than the other tasks. */
await sql`with p as (insert into projects (id, owner_id, name, created_at, event_id)
    select uuidv7(), ${owner.id}, 'P' || n, now(), uuidv7() from generate_series(1, ${sizes.projects}::int) n returning id),
  s as (insert into streams (project_id, version, last_number) select id, 1, ${sizes.tasksEach} from p),
  q as (select id, row_number() over (order by id) as at, ${sizes.tasksEach}::int as tasks from p
    union all select ${long}::uuid, 1000, ${sizes.long}::int)
  insert into tasks (id, project_id, number, title, status, priority, due_date, label_ids, claimed_by, claimed_until,
    created_at, updated_at, event_id)
  select uuidv7(), q.id, n, 'T', 'TODO', 'LOW', case when n % 2 = 0 then now() + n * interval '1 hour' end,
    case when hashint4((n * 1000 + at)::int) % 250 <> 0 then array[l.id] end, case when (n + at) % 30 > 0 then gen_random_uuid() end,
    case when (n + at) % 30 > 0 then now() + interval '1 day' end, now(), now(), uuidv7()
  from (select uuidv7() as id) l, q cross join lateral generate_series(1, q.tasks) n
  order by at > 50, case when at > 50 then n end, at, n`
// Every label exists, so that the scan looks it up.
await sql`insert into labels (id, project_id, name, created_at, event_id)
  select distinct on (t.project_id) uuidv7(), t.project_id, 'L', now(), uuidv7() from tasks t`
await sql`update tasks t set label_ids = array[l.id] from labels l where l.project_id = t.project_id and t.label_ids is not null`
await sql`vacuum analyze tasks, labels, projects`
// From now on, one query reads a page of tasks with labels.
for (const path of ['/tasks', `/tasks?projectId=${long}`]) await owner.get(path)

const conditions = {
  noLabel: sql`label_ids is null`,
  ready: sql`claimed_by is null`,
}
const orders = {
  createdAt: sql`id`,
  '-createdAt': sql`id desc`,
  dueDate: sql`coalesce(due_date, 'infinity'), id`,
  '-dueDate': sql`coalesce(due_date, 'infinity') desc, id desc`,
}
const max = firstScannedTasksOfAll + maxScannedTasksOfAll

const lists = Object.entries(conditions).flatMap(([filter, condition]) =>
  Object.entries(orders).flatMap(([sort, order]) =>
    [20, 200].map((limit) => [limit, filter, sort, condition, order] as const),
  ),
)
test.each(lists)(
  `pages of %d of %s, by %s, are complete and scan at most ${max} tasks`,
  async (limit, filter, sort, condition, order) => {
    const rows = await sql<{ id: string }[]>`select id from tasks where ${condition} order by ${order}`
    const { ids, costs } = await readPages(owner, `/tasks?${filter}=true&sort=${sort}&limit=${limit}`)
    expect(ids).toEqual(rows.map(({ id }) => id))
    expect(costs[0]!.scans).not.toContain('Seq Scan')
    expect(costs[0]!.taskRows).toBeLessThanOrEqual(max + 2 * sizes.projects + 2 * limit)
  },
)

test(`a page of one project scans at most ${maxScannedTasks} tasks, and the pages are complete`, async () => {
  const rows = await sql`select from tasks where project_id = ${long} and label_ids is null`
  const { ids, costs } = await readPages(owner, `/tasks?projectId=${long}&noLabel=true&limit=200`)
  expect(ids).toHaveLength(rows.length)
  for (const { taskRows } of costs) expect(taskRows).toBeLessThanOrEqual(maxScannedTasks + 200)
})
