import type { ImportCursor } from '../../drizzle/schema/imports.ts'
import type { CommentItem, SubtaskItem, TaskItem } from '../../modules/imports/items.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { hasRoom, jsonBytes } from '../../src/reads/pages.ts'

interface Staged {
  n: number
  row: number
  key: string
  /** The row of an earlier item with the same key, or of an earlier task with the same external id. */
  firstRow: number | null
}

export interface StagedTask extends Staged {
  id: string
  item: TaskItem
  parent: string | null
  /** Null if the parent is not in the file. */
  parentTitle: string | null
  parentHasNoId: boolean | null
  /** True if an earlier batch has imported the task, and some of its subtasks and comments. */
  isContinued: boolean
}

/** `leaf`: a sub-item that becomes a subtask. `task`: a sub-item that becomes a task; only its names are read. */
export type StagedChild = Staged & { taskN: number; position: number } & (
    | { kind: 'leaf'; item: TaskItem }
    | { kind: 'task'; item: Pick<TaskItem, 'title' | 'hasNoId'> }
    | { kind: 'subtask'; item: SubtaskItem }
    | { kind: 'comment'; item: CommentItem }
  )

/** The most bytes of the items of a page. A single longer item has a page of its own. */
const pageBytes = 4_000_000

/** Reads rows until there are `limit`, or their items fill a page. `isCut`: there are further rows. */
export async function readPage<Row extends { item: unknown }>(sql: Sql, rows: SqlPart, limit: number) {
  const found = await sql<(Omit<Row, 'item'> & { item: Row['item'] | null; hasRoom: boolean })[]>`
    select r.*, case when r.has_room then r.item end as item
    from (select r.*, ${hasRoom(sql, jsonBytes(sql, sql`item`), pageBytes)} as has_room from (${rows} limit ${limit + 1}) r) r`
  const page = found.slice(0, limit).filter((row) => row.hasRoom) as unknown as Row[]
  return { page, isCut: page.length < found.length }
}

export async function lastOf(sql: Sql, importId: string, kind: string): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select coalesce(max(n), 0) as n from import_items where import_id = ${importId} and kind = ${kind}`
  return row!.n
}

/** SQL for the row of the first item with the same kind and key; null for the first item itself. */
const firstRow = (sql: Sql) => sql`(
  select row from import_items e
  where e.import_id = i.import_id and e.kind in (i.kind, case when i.kind = 'task' then 'leaf' end) and e.key = i.key
    and e.n < i.n order by e.n limit 1)`

/** Sub-items are before subtasks and comments, so that the first batch of a task has all lines of its description. */
const position = (sql: Sql) => sql`(case when i.kind in ('leaf', 'task') then 0 else 10000000000 end + i.n)`

/**
 * Reads the next tasks with their children. Of several tasks with the same key, only the first has the children. If the
 * last task has more children than fit, its next page begins after `end.child`. Returns undefined at the end.
 */
export async function readRecords(
  sql: Sql,
  importId: string,
  { n: after, child }: Omit<ImportCursor, 'step'>,
  limit: number,
): Promise<{ tasks: StagedTask[]; children: StagedChild[]; end: Omit<ImportCursor, 'step'> } | undefined> {
  const { page: tasks } = await readPage<StagedTask>(
    sql,
    sql`
      select i.n, i.row, i.key, i.id, i.item, i.parent, i.n = ${after} as is_continued,
        coalesce((i.item ->> 'firstRow')::int4, ${firstRow(sql)}) as first_row, p.title as parent_title,
        p.has_no_id as parent_has_no_id
      from import_items i
      left join lateral (select left(p.item ->> 'title', 500) as title, p.item -> 'hasNoId' is not null as has_no_id
        from import_items p where p.import_id = i.import_id and p.kind = 'task' and p.key = i.parent
        order by p.n limit 1) p on true
      where i.import_id = ${importId} and i.kind = 'task' and i.n >= ${after} and (i.n > ${after} or ${child !== undefined})
      order by i.n`,
    limit,
  )
  const last = tasks.at(-1)
  if (!last) return undefined
  const own = tasks.filter((task) => task.firstRow === null)
  const { page: children, isCut } = await readPage<StagedChild>(
    sql,
    sql`
      select i.*, t.n::float8 as task_n from unnest(${own.map(({ n }) => n)}::bigint[], ${own.map(({ key }) => key)}::text[]) t(n, key)
      cross join lateral (
        select i.n, i.row, i.kind, i.key, ${firstRow(sql)} as first_row, ${position(sql)}::float8 as position,
          case when i.kind = 'task' then jsonb_build_object('title', left(i.item ->> 'title', 200), 'hasNoId', i.item -> 'hasNoId')
            else i.item end as item
        from import_items i where i.import_id = ${importId} and i.parent = t.key
          and i.kind in ('leaf', 'task', 'subtask', 'comment')
          and (t.n > ${after} or ${position(sql)} > ${child ?? 0})) i
      order by t.n, i.position`,
    2 * limit,
  )
  const cut = isCut ? children.at(-1) : undefined
  const childrenOf = Map.groupBy(children, ({ taskN }) => taskN)
  const page: StagedTask[] = []
  let rows = 0
  for (const task of tasks.filter(({ n }) => !cut || n <= cut.taskN)) {
    rows += 1 + (childrenOf.get(task.n)?.length ?? 0)
    if (page.length > 0 && rows > maxRows(limit)) break
    page.push(task)
  }
  const { n } = page.at(-1)!
  return {
    tasks: page,
    children: page.flatMap((task) => childrenOf.get(task.n) ?? []),
    end: { n, ...(n === cut?.taskN && { child: cut.position }) },
  }
}

/** The undo of a batch may have at most 500 events. */
const maxRows = (limit: number) => 2.5 * limit

interface Orphan {
  row: number
  kind: string
  task: string
  count: number
}

const maxOrphans = 10_000

/** Returns the first subtask or comment of each task that is not in the file, and the number of these rows. */
export const orphans = (sql: Sql, importId: string) => sql<Orphan[]>`
  select (array_agg(i.row order by i.n))[1] as row, (array_agg(i.kind order by i.n))[1] as kind, i.parent as task,
    count(*)::int4 as count
  from import_items i where i.import_id = ${importId} and i.kind in ('subtask', 'comment')
    and not exists (select from import_items t where t.import_id = i.import_id and t.kind = 'task' and t.key = i.parent)
  group by i.parent order by min(i.n) limit ${maxOrphans}`
