import { type ChildItem, ImportError, type TaskItem } from '../../modules/imports/items.ts'
import type { NamesInFile } from '../../modules/imports/convert/names.ts'
import { DigestKeys, taskIdOf } from '../../modules/imports/convert/keys.ts'
import { KeyMap } from '../../modules/imports/readers/key-map.ts'
import type { Mapping } from '../../modules/imports/mapping.ts'
import { ImportTaken, type RunningImport } from './import-row.ts'
import { newId } from '../../src/ids.ts'
import { nilId } from '../../src/id-format.ts'
import type { Sql } from '../../src/postgres/database.ts'

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
    const { description } = names
    if (description) add('project', '', { description })
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
  { id, cursor }: Pick<RunningImport, 'id' | 'cursor'>,
  rows: StagedItem[],
): Promise<void> {
  const column = <K extends keyof StagedItem>(name: K) => rows.map((row) => row[name])
  // One text instead of an array, whose characters postgres.js would escape one by one. JSON has no line breaks.
  const items = column('json').join('\n')
  const running = await sql`
    with running as materialized (select id, set_config('synchronous_commit', 'off', true) from imports
      where id = ${id} and state = 'running' and cursor = ${JSON.stringify(cursor)}::text::jsonb for share),
    stored as (insert into import_items (import_id, kind, n, row, key, parent, id, item)
    select running.id, kind, n, row, key, nullif(parent, ''), t.id, item::jsonb
    from running, unnest(${column('kind')}::text[], ${column('n')}::bigint[], ${column('row')}::bigint[], ${column('key')}::text[],
      ${column('parent')}::text[], ${column('id')}::uuid[], string_to_array(${items}, e'\n'))
      t(kind, n, row, key, parent, id, item))
    select from running`
  if (running.length === 0) throw new ImportTaken()
}
