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

/** A subtask or comment. `leaf`: a sub-item that becomes a subtask. */
export type StagedChild = Staged & { taskN: number } & (
    | { kind: 'leaf'; item: TaskItem }
    | { kind: 'subtask'; item: SubtaskItem }
    | { kind: 'comment'; item: CommentItem }
  )

/** A sub-item: a line in the description of its parent has its values or, if it becomes a task, its title. */
export type SubItem = { taskN: number; key: string } & (
  { kind: 'leaf'; item: TaskItem } | { kind: 'task'; item: Pick<TaskItem, 'title' | 'hasNoId'> }
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

type Position = Omit<ImportCursor, 'step'>

interface RecordPage {
  tasks: StagedTask[]
  children: StagedChild[]
  end: Position
}

/**
 * Reads the next tasks with their children. Of several tasks with the same key, only the first has the children. If the
 * last task has more children than fit, its next page begins after `end.child`. Returns undefined at the end.
 * @param maxTasks reads no more tasks, because the children of all these tasks are read
 */
export async function readRecords(
  sql: Sql,
  importId: string,
  { n: after, child }: Position,
  limit: number,
  maxTasks = limit,
): Promise<RecordPage | undefined> {
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
    maxTasks,
  )
  if (tasks.length === 0) return undefined
  const maxChildren = 2 * limit
  const { page: children, isCut } = await readPage<StagedChild>(
    sql,
    sql`
      select i.*, t.n::float8 as task_n from ${firstTasks(sql, tasks)}
      cross join lateral (
        select i.n, i.row, i.kind, i.key, i.item, ${firstRow(sql)} as first_row from import_items i
        where i.import_id = ${importId} and i.parent = t.key and i.kind in ('leaf', 'subtask', 'comment')
          and i.n > case when t.n = ${after} then ${child ?? 0}::int4 else 0 end
        order by i.n limit ${maxChildren + 1}) i
      order by t.n, i.n`,
    maxChildren,
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
    end: { n, ...(n === cut?.taskN && { child: cut.n }) },
  }
}

/** The undo of a batch may have at most 500 events. */
const maxRows = (limit: number) => 2.5 * limit

const firstTasks = (sql: Sql, tasks: StagedTask[]) => {
  const first = tasks.filter((task) => task.firstRow === null)
  return sql`unnest(${first.map(({ n }) => n)}::bigint[], ${first.map(({ key }) => key)}::text[]) t(n, key)`
}

export async function hasSubItems(sql: Sql, importId: string): Promise<boolean> {
  const [found] = await sql`
    select from import_items where import_id = ${importId} and kind in ('leaf', 'task') and parent is not null limit 1`
  return found !== undefined
}

/** More lines do not fit into a description. */
const maxSubItems = 700

/** Reads the sub-items of tasks whose description an import writes. */
export const readSubItems = async (sql: Sql, importId: string, tasks: StagedTask[]): Promise<SubItem[]> =>
  (
    await readPage<SubItem>(
      sql,
      sql`
        select i.*, t.n::float8 as task_n from ${firstTasks(
          sql,
          tasks.filter((task) => !task.isContinued),
        )}
        cross join lateral (
          select i.n, i.kind, i.key, case when i.kind = 'leaf' then i.item
            else jsonb_build_object('title', left(i.item ->> 'title', 200), 'hasNoId', i.item -> 'hasNoId') end as item
          from import_items i where i.import_id = ${importId} and i.parent = t.key and i.kind in ('leaf', 'task')
          order by i.n limit ${maxSubItems}) i
        order by t.n, i.n`,
      10 * maxSubItems,
    )
  ).page

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
