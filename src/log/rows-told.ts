import type { ChildOfTask } from '../model/entities.ts'
import { definitionOf } from '../model/model.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import type { Moment } from './as-of.ts'
import { since, wordsOf } from './rows-at.ts'

const until = (sql: Sql, moment: Moment, taskId: string) => sql`
  task_id = ${taskId} and project_id = ${moment.projectId} and id < ${since(sql, moment)}`

/** The event by which a task came into its project, the last time before a moment. */
const arrival = (sql: Sql, moment: Moment, taskId: string) => sql`(select id from events
  where ${until(sql, moment, taskId)} and entity = 'task' and before is null order by id desc limit 1)`

/** Whether that event is kept, and with it all since. */
export async function isArrivalTold(sql: Sql, moment: Moment, taskId: string): Promise<boolean> {
  const [found] = await sql<
    { isTold: boolean }[]
  >`select ${arrival(sql, moment, taskId)} is not null as is_told`
  return found!.isTold
}

/**
 * What hung on a task at a moment, told by the log alone: each as the last event about it left it, or as it came along with
 * the task. For when the task went since, and its rows with it.
 */
export function rowsTold(sql: Sql, entity: ChildOfTask, moment: Moment, taskId: string): SqlPart {
  const { fields, record } = wordsOf(sql, entity)
  const told = sql`(select * from events where ${until(sql, moment, taskId)} and id >= ${arrival(sql, moment, taskId)})`
  return sql`(select ${fields} from (select distinct on (entity_id) after from (
      select entity_id, id, after from ${told} e where entity = ${entity}
      union all
      select (along.row ->> 'id')::uuid, e.id, along.row from ${told} e
      cross join lateral jsonb_array_elements(e.after -> ${definitionOf(entity).plural}::text) as along(row) where type = 'task.moved_in') e
    order by entity_id, id desc) e
  cross join lateral jsonb_to_record(e.after) as r(${record}) where e.after is not null)`
}
