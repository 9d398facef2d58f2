import type { Sql } from '../../src/postgres/database.ts'
import { type LookUp, openLookUp } from '../../src/reads/lookups.ts'
import type { Versioned, Versions } from '../../src/reads/versions.ts'

/** The project that a task is in, or was in when it was deleted, and the others that it has left. */
export interface Trail extends Versioned {
  others: string[]
}

/** Finds where tasks have been; undefined where the caller may not see the last project. */
export const openSeeTrail = (sql: Sql, versions: Versions): LookUp<Trail> =>
  openLookUp(sql, versions, {
    joins: sql`cross join lateral (${place(sql)}) w cross join lateral (${left(sql)}) o`,
    projectId: sql`w.project_id`,
    columns: sql`o.others`,
    make: (seen, others) => ({ ...seen, others }),
  })

/** Where the task is, else where it was last; nowhere when it went on to what is gone by now. */
const place = (sql: Sql) => sql`
  select coalesce((select project_id from tasks where id = q.id),
    (select case when type <> 'task.moved_out' then project_id end
      from events where task_id = q.id order by id desc limit 1)) as project_id`

/** The projects that the task left, but for that one: of each the next by the index. */
const left = (sql: Sql) => sql`
  with recursive way(project_id) as (
    (select project_id from events
      where task_id = q.id and type = 'task.moved_out' order by project_id limit 1)
    union all
    select (select e.project_id from events e
      where e.task_id = q.id and e.type = 'task.moved_out' and e.project_id > way.project_id
      order by e.project_id limit 1) from way where way.project_id is not null)
  select string_agg(way.project_id::text, ' ') as others from way where way.project_id <> w.project_id`
