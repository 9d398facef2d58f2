import { getTableName } from 'drizzle-orm'
import type { Snapshot } from '../../src/log/as-of.ts'
import { rowSources } from '../../src/log/rows-at.ts'
import { definitionOf } from '../../src/model/model.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'

/** SQL for an array of the `ids` that exist in the project of the task `t`, now or at the snapshot. */
export function existing(
  sql: Sql,
  entity: 'task' | 'label',
  ids: string[] | SqlPart,
  snapshot?: Snapshot,
): SqlPart {
  const areFixed = Array.isArray(ids)
  const isWanted = sql`r.id = any(${areFixed ? sql`${ids}::uuid[]` : ids})`
  if (!snapshot) {
    const table = sql(getTableName(definitionOf(entity).table))
    return sql`array(select r.id from ${table} r where ${isWanted} and r.project_id = t.project_id)`
  }
  // The array does not depend on `t`, so that the events after the snapshot are read once and not for each task.
  const one = areFixed && entity === 'task' ? ids[0] : undefined
  const rows = rowSources(sql, entity, snapshot, one)
    .map(
      (source) => sql`select r.id from ${source} r
        where r.project_id = ${snapshot.projectId} ${areFixed ? sql`and ${isWanted}` : sql``}`,
    )
    .reduce((all, one): SqlPart => sql`${all} union all ${one}`)
  return sql`array(${rows})`
}
