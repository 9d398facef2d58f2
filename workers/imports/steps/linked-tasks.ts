import type { Sql } from '../../../src/postgres/database.ts'
import type { Outcome } from '../batches/prepared-row.ts'
import { readPage } from './items.ts'

/** The blockers of a task in the file. */
export interface StagedLinks {
  n: number
  row: number
  key: string
  /** The keys of the blockers. */
  keys: string[]
  taskN: number
  taskId: string
  externalId: string | undefined
  taskOutcome: Outcome
  /** False for a rejected task, a second task with the same key, and a sub-item that became a subtask. */
  isImported: boolean
}

export const readLinks = (sql: Sql, importId: string, after: number, limit: number) =>
  readPage<StagedLinks>(
    sql,
    sql`
      select i.n, i.row, i.key, i.item as keys, t.n as task_n, t.id as task_id, t.item ->> 'externalId' as external_id,
        coalesce(t.outcome, 'created') as task_outcome,
        t.row is not distinct from i.row and coalesce(t.outcome, 'created') <> 'rejected' as is_imported
      from import_items i
      left join lateral (select * from import_items t
        where t.import_id = i.import_id and t.kind = 'task' and t.key = i.key order by t.n limit 1) t on true
      where i.import_id = ${importId} and i.kind = 'links' and i.n > ${after} order by i.n limit ${limit}`,
    sql`keys`,
  )
