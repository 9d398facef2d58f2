import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { nilId } from '../../src/id-format.ts'

/** A kind of time: a column of tasks, and the condition of its partial index. */
export interface Kind {
  column: string
  condition: string
}

export const kinds: Kind[] = [
  { column: 'remind_at', condition: 'remind_at is not null' },
  { column: 'due_date', condition: `status <> 'DONE' and due_date > coalesce(due_after, '-infinity')` },
  { column: 'claimed_until', condition: 'claimed_by is not null' },
]

export interface TimedTask {
  at: string
  id: string
  projectId: string
  /** False for a deleted project whose rows no worker has deleted yet. */
  isInProject: boolean
}

export const firstTask: Omit<TimedTask, 'isInProject'> = { at: '-infinity', projectId: nilId, id: nilId }

/** Returns the next tasks whose time has come, in the order of the index. */
export function findTasks(sql: Sql, { column, condition }: Kind, after: typeof firstTask, rows: number) {
  const key = sql`${sql(column)}, project_id, id`
  return sql<TimedTask[]>`
    select ${sql(column)} as at, project_id, id, ${isInProject(sql)} as is_in_project from tasks t
    where ${sql.unsafe(condition)} and ${sql(column)} <= now()
      and (${key}) > (${after.at}::text::timestamptz, ${after.projectId}::uuid, ${after.id}::uuid)
    order by ${key} limit ${rows}`
}

/** Returns how long ago the oldest time was that no event has recorded, in seconds. */
export async function oldestAge(sql: Sql): Promise<number> {
  const oldest = kinds
    .map(
      ({ column, condition }): SqlPart => sql`
        (select ${sql(column)} from tasks t where ${sql.unsafe(condition)} and ${isInProject(sql)}
          order by ${sql(column)}, project_id, id limit 1)`,
    )
    .reduce((all, one): SqlPart => sql`${all}, ${one}`)
  const [row] = await sql<{ age: number }[]>`
    select greatest(extract(epoch from now() - least(${oldest})), 0)::float8 as age`
  return row!.age
}

const isInProject = (sql: Sql) => sql`exists (select from projects p where p.id = t.project_id)`
