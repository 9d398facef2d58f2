import { labels } from '../../drizzle/schema/labels.ts'
import { tasks } from '../../drizzle/schema/tasks.ts'
import { getTableName } from 'drizzle-orm'
import type { Snapshot } from '../../src/log/as-of.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'

const tables = { task: tasks, label: labels }

/** SQL for an array of those `ids` that exist in the project of the task `t`, now or at the snapshot. */
export function existing(
  sql: Sql,
  entity: keyof typeof tables,
  ids: string[] | SqlPart,
  _snapshot?: Snapshot,
): SqlPart {
  const wanted = Array.isArray(ids) ? sql`${ids}::uuid[]` : ids
  return sql`array(select r.id from ${sql(getTableName(tables[entity]))} r
    where r.id = any(${wanted}) and r.project_id = t.project_id)`
}
