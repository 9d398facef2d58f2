import { DigestKeys, taskIdOf } from '../../modules/imports/convert/keys.ts'
import type { NamesInFile } from '../../modules/imports/convert/names.ts'
import { type ChildItem, ImportError, type TaskItem } from '../../modules/imports/items.ts'
import type { Mapping } from '../../modules/imports/mapping.ts'
import { KeyMap } from '../../modules/imports/readers/key-map.ts'
import { nilId } from '../../src/id-format.ts'
import { newId } from '../../src/ids.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { jsonBytes, untilPageFull } from '../../src/reads/pages.ts'
import { ImportTaken, isUnmoved, type RunningImport } from './import-row.ts'
import type { Outcome } from './report.ts'

interface StagedItem {
  kind: string
  n: number
  row: number
  key: string
  /** Empty: none. */
  parent: string
  id: string
  json: string
}

const max = { items: 1_000_000, itemCharacters: 1_000_000 }
const page = { rows: 500, characters: 1_000_000 }

/** Numbers the items of a file, gives them keys, and collects them into pages. */
export class Staging {
  private readonly keys = new DigestKeys()
  private readonly rowsByExternalId = new KeyMap<number>()
  private rows: StagedItem[] = []
  private characters = 0
  private n = 0

  /** @throws ImportError if the file has too many items, or an item is too long */
  add(item: TaskItem | ChildItem, json: string): void {
    const { kind, row } = item
    if (json.length > max.itemCharacters)
      throw new ImportError(`A row has more than ${max.itemCharacters} characters`, `row ${row}`)
    if (kind === 'task') return this.addTask(item, json, this.firstRowOf(item))
    const { task } = item
    // The ids of subtasks and comments may be unique only within their task.
    const key = item.key === undefined ? this.keys.ofChild(item) : `${task} ${item.key}`
    this.push({ kind: 'child', row, key, parent: task, id: nilId, json })
  }

  /** Returns the row of an earlier task with the same external id. */
  private firstRowOf({ row, externalId }: TaskItem): number | undefined {
    if (externalId === undefined) return undefined
    const first = this.rowsByExternalId.get(externalId)
    if (first === undefined) this.rowsByExternalId.set(externalId, row)
    return first
  }

  private addTask(item: TaskItem, json: string, firstRow?: number): void {
    const { row, key, parent = '', blockedBy, after } = item
    const stored = firstRow === undefined ? json : JSON.stringify({ ...item, firstRow })
    const n = item.number ?? this.n + 1
    this.push({ kind: 'task', row, key, parent, id: taskIdOf(item, n), json: stored }, n)
    // Tasks are placed in the order of the file.
    if (blockedBy?.length || after !== undefined)
      this.push({ kind: 'link', row, key, parent: '', id: nilId, json: '{}' })
  }

  /** Adds the items without a row: the description, the labels and the fields. */
  addSpecs(names: NamesInFile, mapping: Mapping): void {
    const add = (kind: string, key: string, spec: object) =>
      this.push({ kind, row: 0, key, parent: '', id: newId(), json: JSON.stringify(spec) })
    if (Object.keys(names.project).length > 0) add('project', '', names.project)
    for (const [key, field] of names.fields) add('field', key, field)
    for (const [key, label] of names.allLabels(mapping)) add('label', key, label)
  }

  /** @param n orders the items of a kind. Default: the order of the file */
  private push(item: Omit<StagedItem, 'n'>, n?: number): void {
    if (++this.n > max.items)
      throw new ImportError(`The file has more than ${max.items} tasks, subtasks and comments`)
    this.rows.push({ ...item, n: n ?? this.n })
    this.characters += item.json.length
  }

  get isFull(): boolean {
    return this.rows.length >= page.rows || this.characters >= page.characters
  }

  takePage(): StagedItem[] {
    const { rows } = this
    this.rows = []
    this.characters = 0
    return rows
  }
}

/** @throws ImportTaken if the import is no longer running, or another worker reads its file */
export async function insertItems(
  sql: Sql,
  running: Pick<RunningImport, 'id' | 'cursor'>,
  rows: StagedItem[],
): Promise<void> {
  const column = <K extends keyof StagedItem>(name: K) => rows.map((row) => row[name])
  // Sends one text with a line for each item: postgres.js would escape the characters of an array one by one. JSON has
  // no line breaks.
  const items = column('json').join('\n')
  const found = await sql`
    with running as materialized (select id, set_config('synchronous_commit', 'off', true) from imports
      where state = 'running' and ${isUnmoved(sql, running)} for share),
    stored as (insert into import_items (import_id, kind, n, row, key, parent, id, item)
    select running.id, kind, n, row, key, nullif(parent, ''), t.id, item::jsonb
    from running, unnest(${column('kind')}::text[], ${column('n')}::bigint[], ${column('row')}::bigint[], ${column('key')}::text[],
      ${column('parent')}::text[], ${column('id')}::uuid[], string_to_array(${items}, e'\n'))
      t(kind, n, row, key, parent, id, item))
    select from running`
  if (found.length === 0) throw new ImportTaken()
}

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
  /** Null for a task that the import created, or has not imported yet. */
  outcome: Outcome | null
  parent: string | null
  /** Null if the parent is not in the file. */
  parentTitle: string | null
  parentHasNoId: boolean | null
}

export type StagedLinks = Pick<StagedTask, 'n' | 'row' | 'key' | 'id' | 'item' | 'outcome'> & {
  taskN: number
}

/** A child, or a sub-item that becomes a subtask, and its task. The fields of the task are null if it is not in the file. */
export interface StagedChild extends Staged {
  item: TaskItem | ChildItem
  taskKey: string
  taskN: number | null
  taskId: string
  taskRow: number
  taskOutcome: Outcome | null
  task: Pick<TaskItem, 'externalId' | 'list' | 'isExported'>
}

/**
 * A sub-item. The description of its parent has a line with the values of the sub-item or, if the sub-item becomes a
 * task, with its title.
 */
export type SubItem = { taskN: number; key: string } & (
  { kind: 'leaf'; item: TaskItem } | { kind: 'task'; item: Pick<TaskItem, 'title' | 'hasNoId'> }
)

/** The maximum number of bytes of the items of a page. A single longer item has a page of its own. */
const pageBytes = 4_000_000

/** Reads rows until there are `limit`, or their items fill a page. */
const readPage = <Row extends object>(sql: Sql, rows: SqlPart, limit: number) =>
  sql<Row[]>`${untilPageFull(sql, sql`${rows} limit ${limit}`, jsonBytes(sql, sql`item`), pageBytes)}`

export async function lastOf(sql: Sql, importId: string, kind: string): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select coalesce(max(n), 0) as n from import_items where import_id = ${importId} and kind = ${kind}`
  return row!.n
}

export const readTasks = (sql: Sql, importId: string, after: number, limit: number) =>
  readPage<StagedTask>(
    sql,
    sql`
      select i.n, i.row, i.key, i.id, i.item, i.outcome, i.parent, coalesce((i.item ->> 'firstRow')::int4, (
          select row from import_items e where e.import_id = i.import_id and e.kind in ('task', 'leaf') and e.key = i.key
            and e.n < i.n order by e.n limit 1)) as first_row,
        p.title as parent_title, p.has_no_id as parent_has_no_id
      from import_items i
      left join lateral (select left(p.item ->> 'title', 500) as title, p.item -> 'hasNoId' is not null as has_no_id
        from import_items p where p.import_id = i.import_id and p.kind = 'task' and p.key = i.parent
        order by p.n limit 1) p on true
      where i.import_id = ${importId} and i.kind = 'task' and i.n > ${after}
      order by i.n`,
    limit,
  )

/** Reads the tasks that have blockers or a place, in the order of the file. `n` is the number of the link. */
export const readLinks = (sql: Sql, importId: string, after: number, limit: number) =>
  readPage<StagedLinks>(
    sql,
    sql`
      select i.n, t.n as task_n, t.row, t.key, t.id, t.item, t.outcome from import_items i
      join lateral (select * from import_items t
        where t.import_id = i.import_id and t.kind = 'task' and t.key = i.key order by t.n limit 1) t on t.row = i.row
      where i.import_id = ${importId} and i.kind = 'link' and i.n > ${after} and t.outcome is distinct from 'rejected'
      order by i.n`,
    limit,
  )

/** Of several tasks with the same key, the first has the children. */
export const readChildren = (
  sql: Sql,
  importId: string,
  kind: 'leaf' | 'child',
  after: number,
  limit: number,
) =>
  readPage<StagedChild>(
    sql,
    sql`
      select i.n, i.row, i.key, i.item, i.parent as task_key, t.n as task_n, t.id as task_id, t.row as task_row,
        t.outcome as task_outcome, coalesce(t.task, '{}') as task, (
          select row from import_items e where e.import_id = i.import_id and e.kind = ${kind} and e.key = i.key and e.n < i.n
            and e.item -> 'kind' = i.item -> 'kind' order by e.n limit 1) as first_row
      from import_items i
      left join lateral (select t.*, jsonb_build_object('externalId', t.item -> 'externalId', 'list', t.item -> 'list',
          'isExported', t.item -> 'isExported') as task
        from import_items t where t.import_id = i.import_id and t.kind = 'task' and t.key = i.parent
        order by t.n limit 1) t on true
      where i.import_id = ${importId} and i.kind = ${kind} and i.n > ${after}
      order by i.n`,
    limit,
  )

/** More lines do not fit into a description. */
const maxSubItems = 700

/** Reads the sub-items of tasks whose description an import writes. */
export const readSubItems = (sql: Sql, importId: string, tasks: StagedTask[]) =>
  readPage<SubItem>(
    sql,
    sql`
      select i.*, t.n::float8 as task_n from unnest(${tasks.map(({ n }) => n)}::bigint[], ${tasks.map(({ key }) => key)}::text[]) t(n, key)
      cross join lateral (
        select i.n, i.kind, i.key, case when i.kind = 'leaf' then i.item
          else jsonb_build_object('title', left(i.item ->> 'title', 200), 'hasNoId', i.item -> 'hasNoId') end as item
        from import_items i where i.import_id = ${importId} and i.parent = t.key and i.kind in ('leaf', 'task')
        order by i.n limit ${maxSubItems}) i
      order by t.n, i.n`,
    10 * maxSubItems,
  )

export async function hasSubItems(sql: Sql, importId: string): Promise<boolean> {
  const [found] = await sql`
    select from import_items where import_id = ${importId} and kind in ('leaf', 'task') and parent is not null limit 1`
  return found !== undefined
}

/** The maximum number of items of a statement. */
const pageItems = 5_000

type Position = Pick<RunningImport, 'id' | 'cursor'>

/**
 * Marks sub-items that become subtasks: they have no sub-items, comments and description of their own. Marks nothing if
 * another worker reads the file again.
 */
export async function markLeaves(sql: Sql, running: Position): Promise<void> {
  const importId = running.id
  // Numbers of exported tasks may be large, but exported tasks have no parents.
  const last = (await hasSubItems(sql, importId)) ? await lastOf(sql, importId, 'task') : 0
  for (let after = 0; after < last; after += pageItems)
    await sql`
      update import_items i set kind = 'leaf'
      where i.import_id = ${importId} and i.kind = 'task' and i.n > ${after} and i.n <= ${after + pageItems} and i.parent is not null
        and exists (select from imports where ${isUnmoved(sql, running)})
        and coalesce(i.item ->> 'description', '') !~ '\\S' and i.item -> 'problem' is null
        and exists (select from import_items p where p.import_id = ${importId} and p.kind = 'task' and p.key = i.parent)
        and not exists (select from import_items c where c.import_id = ${importId} and c.parent = i.key)
        and not exists (select from import_items e
          where e.import_id = ${importId} and e.kind in ('task', 'leaf') and e.key = i.key and e.n < i.n)`
}
