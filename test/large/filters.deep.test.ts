import { maxScannedTasks } from '../../modules/task-lists/list.ts'
import { make, openScene, words } from '../kit.ts'
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

const dueBefore = new Date(Date.now() + 50 * 3_600_000).toISOString()
const conditions: Record<string, ReturnType<typeof sql>> = {
  'noLabel=true': sql`label_ids is null`,
  'ready=true': sql`claimed_by is null`,
  [`dueBefore=${dueBefore}`]: sql`due_date < ${dueBefore}`,
}
const orders: Record<string, ReturnType<typeof sql>> = {
  createdAt: sql`id`,
  '-createdAt': sql`id desc`,
  dueDate: sql`coalesce(due_date, 'infinity'), id`,
  '-dueDate': sql`coalesce(due_date, 'infinity') desc, id desc`,
}
const lists = Object.keys(conditions).flatMap((filter) => Object.keys(orders).map((sort) => [filter, sort]))

test.each(lists as [string, string][])(
  `pages of tasks of all projects with %s, by %s, are complete and scan at most ${maxScannedTasks} tasks`,
  async (filter, sort) => {
    const rows = await sql<{ id: string }[]>`
      select id from tasks where ${conditions[filter]!} order by ${orders[sort]!}`
    for (const limit of [20, 200]) {
      const { ids, costs } = await readPages(
        owner,
        `/tasks?${filter}&sort=${sort}&limit=${limit}`,
        10 * limit,
      )
      expect(ids).toEqual(rows.map(({ id }) => id).slice(0, ids.length))
      expect(ids.length).toBeGreaterThanOrEqual(Math.min(rows.length, 10 * limit))
      expect(costs[0]!.scans).not.toContain('Seq Scan')
      expect(costs[0]!.taskRows).toBeLessThanOrEqual(maxScannedTasks + 2 * sizes.projects + 2 * limit)
    }
  },
)

test(`a page of one project scans at most ${maxScannedTasks} tasks, and the pages are complete`, async () => {
  for (const [filter, condition] of Object.entries(conditions))
    for (const sort of ['createdAt', '-createdAt']) {
      const rows = await sql`select from tasks where project_id = ${long} and ${condition}`
      const path = `/tasks?projectId=${long}&${filter}&sort=${sort}&limit=200`
      const { ids, costs } = await readPages(owner, path)
      expect(ids).toHaveLength(rows.length)
      for (const { taskRows } of costs) expect(taskRows).toBeLessThanOrEqual(maxScannedTasks + 200)
    }
})

test('a database connection keeps a limited number of statements, however many different lists clients read', async () => {
  const { ada, service } = await openScene(['Ada'], { READ_CONNECTIONS: '1' })
  const parameters = words(
    'status=TODO priority=LOW assigneeId=me noLabel=true ready=true dueBefore=2030-01-01',
  )
  for (const sort of Object.keys(orders))
    for (let n = 0; n < 2 ** parameters.length; n++) {
      const some = parameters.filter((_, i) => n & (1 << i))
      expect((await ada.get(`/tasks?${[`sort=${sort}`, ...some].join('&')}`)).status).toBe(200)
    }
  const [row] = await service.services.database.reads<{ characters: number }[]>`
    select sum(length(statement))::int4 as characters from pg_prepared_statements`
  expect(row!.characters).toBeWithin(100_000, 300_000)
})
