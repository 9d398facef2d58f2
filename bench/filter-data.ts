import type postgres from 'postgres'
import { openClient } from '../test/support/client.ts'

export const sizes = { projects: 500, tasksEach: 2_000, labelsEach: 10 }

/** A project with two of its labels, and a task that blocks others. */
export interface FilterPlace {
  project: string
  label: string
  other: string
  blocker: string
}

/** A user with 500 projects. */
export interface FilterData {
  token: string
  places: FilterPlace[]
}

/**
 * Inserts the tasks of all projects in the order of their creation, one project after another. A quarter of the tasks
 * has no label, a fifth has blockers, half are DONE, and a thousand are claimed.
 */
export async function insertFilterData(url: string, sql: postgres.Sql): Promise<FilterData> {
  const { projects, tasksEach, labelsEach } = sizes
  const user = { name: 'Many', email: `filters-${Date.now()}@example.com`, password: 'secret-1' }
  const { status, body } = await openClient(url).post('/auth/register', user)
  if (status !== 201) throw new Error(`The registration answered ${status}`)
  const userId = body.user.id as string
  await sql`with made as (insert into projects (id, owner_id, name, created_at, event_id)
      select uuidv7(), ${userId}, 'P' || n, now(), uuidv7() from generate_series(1, ${projects}::int) n returning id)
    insert into streams (project_id, version, last_number) select id, 1, ${tasksEach} from made`
  await sql`insert into labels (id, project_id, name, created_at, event_id)
    select uuidv7(), id, 'L' || n, now(), uuidv7() from projects, generate_series(1, ${labelsEach}::int) n
    where owner_id = ${userId}`
  await sql`insert into task_fields (id, project_id, key, name, type, options, created_at, event_id)
    select uuidv7(), id, f.key, f.key, f.type, f.options::jsonb, now(), uuidv7() from projects,
      (values ('estimate', 'number', null), ('start', 'date', null), ('size', 'choice', '["S", "M", "L"]')) f(key, type, options)
    where owner_id = ${userId}`
  await insertTasks(sql, userId)
  await sql`update tasks t set blocked_by_ids = array[b.id, c.id] from tasks b join tasks c using (project_id)
    where b.project_id = t.project_id and t.number % 5 = 0 and t.number > 5
      and b.number = t.number / 2 and c.number = t.number / 3`
  await sql`vacuum analyze`
  const places = await sql<
    FilterPlace[]
  >`select p.id as project, l.ids[1] as label, l.ids[2] as other, b.id as blocker
    from projects p cross join lateral (select array_agg(id) as ids from labels where project_id = p.id) l
    join tasks b on b.project_id = p.id and b.number = 50 where p.owner_id = ${userId}`
  return { token: body.access_token as string, places: [...places] }
}

async function insertTasks(sql: postgres.Sql, userId: string): Promise<void> {
  const { projects, tasksEach, labelsEach } = sizes
  await sql`insert into tasks (id, project_id, number, title, status, priority, due_date, assignee_id, created_at,
      updated_at, event_id, label_ids, fields, external_id, claimed_by, claimed_until, claim_seq)
    with p as (select id, (row_number() over ())::int - 1 as at, array(select l.id from labels l where l.project_id = p.id)
      as labels from projects p where owner_id = ${userId})
    select uuidv7(), p.id, n / ${projects}::int + 1, 'Task ' || n, (array['TODO', 'IN_PROGRESS', 'DONE', 'DONE'])[1 + floor(r * 4)::int],
      (array['LOW', 'MEDIUM', 'HIGH'])[1 + n % 3], case when n % 2 = 0 then now() + n * interval '1 minute' end,
      case when n % 4 = 0 then ${userId}::uuid end, now(), now(), uuidv7(),
      case when r < 0.25 then null else array[p.labels[1 + floor(s * ${labelsEach}::int)::int]] end,
      jsonb_build_object('estimate', floor(s * 100),
        'start', jsonb_build_object('date', to_char(date '2027-01-01' + (s * 1000)::int, 'YYYY-MM-DD')),
        'size', jsonb_build_object('choice', (array['S', 'M', 'L'])[1 + floor(s * 3)::int])),
      'X-' || n / ${projects}::int, case when n % 1009 = 0 then ${userId}::uuid end,
      case when n % 1009 = 0 then now() + interval '1 day' end, case when n % 1009 = 0 then 1 end
    from (select n, random() as r, random() as s from generate_series(0, ${projects * tasksEach - 1}::int) n) g
    join p on p.at = n % ${projects}::int order by n`
}
