import type { CommentItem, SubtaskItem, TaskItem } from '../../../modules/imports/items.ts'
import type { Sql, SqlPart } from '../../../src/postgres/database.ts'
import { jsonBytes, untilPageFull } from '../../../src/reads/pages.ts'
import type { Outcome } from '../batches/prepared-row.ts'

interface Staged {
  n: number
  row: number
  key: string
  /** The row of an earlier item with the same key, or of an earlier task with the same external id. */
  firstRow: number | null
}

export interface StagedTask extends Staged {
  id: string
  item: TaskItem & { subtaskNotes?: string[] }
  parent: string | null
  parentTitle: string | null
}

/** The task of a staged subtask or comment, or of its blockers. */
export interface TaskOfItem {
  taskN: number
  taskId: string
  taskOutcome: Outcome
  taskRow: number
  taskExternalId: string | null
  taskIsExported: boolean | null
}

export type StagedChild<Item extends SubtaskItem | CommentItem> = Staged & { item: Item } & (
    TaskOfItem | { [K in keyof TaskOfItem]: null }
  )

/** The most bytes of the items of a page. A single longer item has a page of its own. */
export const pageBytes = 4_000_000

/** Reads rows until their items fill a page. */
export const readPage = <Row extends object>(sql: Sql, rows: SqlPart, item: SqlPart = sql`item`) =>
  sql<Row[]>`${untilPageFull(sql, rows, jsonBytes(sql, item), pageBytes)}`

export async function lastOf(sql: Sql, importId: string, kind: string): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select coalesce(max(n), 0) as n from import_items where import_id = ${importId} and kind = ${kind}`
  return row!.n
}

/** SQL for the row of the first item with the same kind and key; null for the first item itself. */
const firstRow = (sql: Sql) => sql`(
  select row from import_items e
  where e.import_id = i.import_id and e.kind = i.kind and e.key = i.key and e.n < i.n order by e.n limit 1)`

export const readTasks = (sql: Sql, importId: string, after: number, limit: number) =>
  readPage<StagedTask>(
    sql,
    sql`
      select i.n, i.row, i.key, i.id, i.item, i.parent,
        coalesce((i.item ->> 'firstRow')::int4, ${firstRow(sql)}) as first_row,
        case when i.parent is not null then (select left(item ->> 'title', 500) from import_items p
          where p.import_id = i.import_id and p.kind = 'task' and p.key = i.parent order by p.n limit 1) end as parent_title
      from import_items i where i.import_id = ${importId} and i.kind = 'task' and i.n > ${after} order by i.n limit ${limit}`,
  )

/** Reads subtasks or comments with their tasks. Of several tasks with the same key, only the first is imported. */
export const readChildren = <Item extends SubtaskItem | CommentItem>(
  sql: Sql,
  importId: string,
  kind: Item['kind'],
  after: number,
  limit: number,
) =>
  readPage<StagedChild<Item>>(
    sql,
    sql`
      select i.n, i.row, i.key, i.item, ${firstRow(sql)} as first_row, t.n as task_n, t.id as task_id,
        coalesce(t.outcome, 'created') as task_outcome, t.row as task_row, t.item ->> 'externalId' as task_external_id,
        (t.item -> 'isExported')::boolean as task_is_exported
      from import_items i
      left join lateral (select * from import_items t
        where t.import_id = i.import_id and t.kind = 'task' and t.key = i.parent order by t.n limit 1) t on true
      where i.import_id = ${importId} and i.kind = ${kind} and i.n > ${after} order by i.n limit ${limit}`,
  )
