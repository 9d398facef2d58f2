import type { importItems } from '../../drizzle/schema/imports.ts'
import { DigestKeys, KeyMap, taskIdOf } from '../../modules/imports/convert/keys.ts'
import type { NamesInFile } from '../../modules/imports/convert/names.ts'
import { type ChildItem, ImportError, type TaskItem } from '../../modules/imports/items.ts'
import type { Mapping } from '../../modules/imports/mapping.ts'
import { nilId } from '../../src/id-format.ts'
import { newId } from '../../src/ids.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { jsonBytes, untilPageFull } from '../../src/reads/pages.ts'
import type { Outcome } from './batches.ts'
import { ImportTaken, isUnmoved, type Run } from './import-row.ts'

type NewItem = Omit<typeof importItems.$inferInsert, 'importId'>

const max = { items: 1_000_000, itemCharacters: 1_000_000 }
const page = { rows: 500, characters: 1_000_000 }

/** Numbers the items of a file, gives them keys, and collects them into pages. */
export class Staging {
  private readonly keys = new DigestKeys()
  private readonly rowsByExternalId = new KeyMap<number>()
  private rows: NewItem[] = []
  private characters = 0
  count = 0

  /** @param length of the item as JSON @throws ImportError if the file has too many items, or an item is too long */
  add(item: TaskItem | ChildItem, length: number): void {
    const { row } = item
    if (length > max.itemCharacters)
      throw new ImportError(`A row has more than ${max.itemCharacters} characters`, `row ${row}`)
    this.characters += length
    if (item.kind === 'task') return this.addTask(item as TaskItem)
    const { task: parent, key } = item as ChildItem
    // The ids of subtasks and comments may be unique only within their task.
    const ownKey = key === undefined ? this.keys.ofChild(item as ChildItem) : `${parent} ${key}`
    this.push({ kind: 'child', row, key: ownKey, parent, item })
  }

  private addTask(item: TaskItem): void {
    const { row, key, parent, externalId, number: n = this.count + 1, blockedBy, after } = item
    const firstRow = externalId === undefined ? undefined : this.rowsByExternalId.get(externalId)
    if (externalId !== undefined && firstRow === undefined) this.rowsByExternalId.set(externalId, row)
    this.push({ kind: 'task', n, row, key, parent, id: taskIdOf(item, n), item: { ...item, firstRow } })
    // Tasks are placed in the order of the file.
    if (blockedBy?.length || after !== undefined) this.push({ kind: 'link', row, key, item: {} })
  }

  /** Adds the items without a row: the description, the labels and the fields. */
  addSpecs(names: NamesInFile, mapping: Mapping): void {
    const { project, fields } = names
    const projects = new Map<string, object>(Object.keys(project).length > 0 ? [['', project]] : [])
    const specs = { project: projects, field: fields, label: names.allLabels(mapping) }
    for (const [kind, all] of Object.entries<ReadonlyMap<string, object>>(specs))
      for (const [key, item] of all) this.push({ kind, row: 0, key, id: newId(), item })
  }

  private push(item: Omit<NewItem, 'n' | 'id'> & Partial<NewItem>): void {
    if (++this.count > max.items)
      throw new ImportError(`The file has more than ${max.items} tasks, subtasks and comments`)
    this.rows.push({ n: this.count, id: nilId, ...item })
  }

  get isFull(): boolean {
    return this.rows.length >= page.rows || this.characters >= page.characters
  }

  takePage(): NewItem[] {
    const { rows } = this
    this.rows = []
    this.characters = 0
    return rows
  }
}

/** @throws ImportTaken if the import is no longer running, or another worker reads its file */
export async function insertItems(run: Run, rows: NewItem[]): Promise<void> {
  const found = await run.sql`
    with running as materialized (select id, set_config('synchronous_commit', 'off', true) from imports
      where state = 'running' and ${isUnmoved(run)} for share),
    stored as (insert into import_items (import_id, kind, n, row, key, parent, id, item)
      select running.id, r.* from running, jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
        r(kind text, n int4, row int4, key text, parent text, id uuid, item jsonb))
    select from running`
  if (found.length === 0) throw new ImportTaken()
}

/** The maximum number of items of a statement. */
const pageItems = 5_000

/**
 * Marks sub-items that become subtasks: they have no sub-items, comments and description of their own. Marks nothing if
 * another worker reads the file again.
 * @param last the number of the last item. Numbers of exported tasks may be larger, but exported tasks have no parents.
 */
export async function markLeaves(run: Run, last: number): Promise<void> {
  const { sql, id } = run
  if (!(await hasSubItems(run))) return
  for (let after = 0; after < last; after += pageItems)
    await sql`
      update import_items i set kind = 'leaf'
      where i.import_id = ${id} and i.kind = 'task' and i.n > ${after} and i.n <= ${after + pageItems} and i.parent is not null
        and exists (select from imports where ${isUnmoved(run)})
        and coalesce(i.item ->> 'description', '') !~ '\\S' and i.item -> 'problem' is null
        and exists (select from import_items p where p.import_id = ${id} and p.kind = 'task' and p.key = i.parent)
        and not exists (select from import_items c where c.import_id = ${id} and c.parent = i.key)
        and not exists (select from import_items e where e.import_id = ${id} and e.kind in ('task', 'leaf') and e.key = i.key and e.n < i.n)`
}

export async function hasSubItems({ sql, id }: Run): Promise<boolean> {
  const found = await sql`
    select from import_items where import_id = ${id} and kind in ('task', 'leaf') and parent is not null limit 1`
  return found.length > 0
}

/** `leaf`: sub-items that become subtasks. `link`: the blockers and the place of a task. */
type StagedKind = 'task' | 'leaf' | 'child' | 'link'

/** An item, and the task that contains it: the parent of a sub-item, the task of a child or of a link. */
export interface Staged<Item = TaskItem> {
  n: number
  row: number
  key: string
  id: string
  item: Item
  /** The row of an earlier item with the same key, or of an earlier task with the same external id. */
  firstRow: number | null
  parent: string | null
  /** Of several tasks with the same key, the first. Null if the file has none. */
  task: StagedParent | null
}

interface StagedParent extends Pick<TaskItem, 'title' | 'externalId' | 'list' | 'isExported' | 'hasNoId'> {
  n: number
  id: string
  row: number
  /** Missing for a task that the import created, or has not imported yet. */
  outcome?: Outcome
}

/** The maximum number of bytes of the items of a page. A single longer item has a page of its own. */
const pageBytes = 4_000_000

/** Reads rows until there are `limit`, or their items fill a page. */
const readPage = <Row extends object>(sql: Sql, rows: SqlPart, limit: number) =>
  sql<Row[]>`${untilPageFull(sql, sql`${rows} limit ${limit}`, jsonBytes(sql, sql`item`), pageBytes)}`

/** Reads the items of a kind after `n`. A link has the item of its task. */
export const readStaged = <Item>({ sql, id }: Run, kind: StagedKind, n: number, limit: number) =>
  readPage<Staged<Item>>(
    sql,
    sql`
      select i.n, i.row, i.key, i.id, i.parent, case when i.kind = 'link' then t.item else i.item end as item,
        coalesce((i.item ->> 'firstRow')::int4, (
          select row from import_items e where e.import_id = i.import_id and e.kind in (${kind}, 'leaf') and e.key = i.key
            and e.n < i.n and e.item -> 'kind' = i.item -> 'kind' order by e.n limit 1)) as first_row,
        case when t.n is not null then jsonb_strip_nulls(jsonb_build_object('n', t.n, 'id', t.id, 'row', t.row, 'outcome', t.outcome,
          'title', left(t.item ->> 'title', 500), 'externalId', t.item -> 'externalId', 'list', t.item -> 'list',
          'isExported', t.item -> 'isExported', 'hasNoId', t.item -> 'hasNoId')) end as task
      from import_items i
      left join lateral (select t.* from import_items t
        where t.import_id = i.import_id and t.kind = 'task' and t.key = case when i.kind = 'link' then i.key else i.parent end
        order by t.n limit 1) t on true
      where i.import_id = ${id} and i.kind = ${kind} and i.n > ${n}
      order by i.n`,
    limit,
  )

/** More lines do not fit into a description. */
const maxSubItems = 700

export interface SubItem {
  taskN: number
  kind: 'leaf' | 'task'
  key: string
  item: TaskItem
}

/** Reads the sub-items of tasks, which become lines of their descriptions. One that becomes a task has only a title. */
export const readSubItems = ({ sql, id }: Run, tasks: Staged[]) =>
  readPage<SubItem>(
    sql,
    sql`
      select i.*, t.n::float8 as task_n from unnest(${tasks.map(({ n }) => n)}::bigint[], ${tasks.map(({ key }) => key)}::text[]) t(n, key)
      cross join lateral (
        select i.n, i.kind, i.key, case when i.kind = 'leaf' then i.item
          else jsonb_build_object('title', left(i.item ->> 'title', 200), 'hasNoId', i.item -> 'hasNoId') end as item
        from import_items i where i.import_id = ${id} and i.parent = t.key and i.kind in ('leaf', 'task')
        order by i.n limit ${maxSubItems}) i
      order by t.n, i.n`,
    10 * maxSubItems,
  )
