import { shortKey } from '../../convert/keys.ts'
import { addNote, type Draft } from '../csv/cells.ts'
import type { KnownColumns } from '../csv/columns.ts'
import { csvReader, type SourceRows } from '../csv/csv-reader.ts'
import type { Row } from '../csv/rows.ts'
import { type Open, readText } from '../csv/text.ts'
import { readAsanaJson } from '../asana-json.ts'
import { KeyMap } from '../key-map.ts'
import type { Reader } from '../reader.ts'

const blockedBy = 'blocked by dependencies'
const blocking = 'blocking dependencies'
const maxNameParts = 10

const columns: KnownColumns = {
  'task id': 'id',
  'created at': 'createdAt',
  'completed at': 'completed',
  'last modified': null,
  name: 'title',
  'section column': 'list',
  assignee: 'assignee',
  'assignee email': 'assigneeEmail',
  'due date': 'dueDate',
  tags: 'labels',
  notes: 'description',
  'parent task': 'parent',
  'parent task id': 'parent',
  [blockedBy]: 'blockedBy',
  [blocking]: null,
}

/** Reads the CSV or JSON export of an Asana project. */
export const readAsana: Reader = async function* (input) {
  yield* (await isJson(input.open)) ? readAsanaJson(input) : readAsanaCsv(input)
}

/** A JSON text begins with a brace or a bracket, a CSV file with the name of a column. */
async function isJson(open: Open): Promise<boolean> {
  for await (const text of readText(open)) {
    const start = new TextDecoder().decode(text).trimStart()
    if (start !== '') return start.startsWith('{') || start.startsWith('[')
  }
  return false
}

/** The CSV file refers to other tasks by their names. */
const readAsanaCsv = csvReader({ columns, reads: [blocking], read: () => new AsanaRows() })

class AsanaRows implements SourceRows {
  private readonly ids = new KeyMap<true>()
  /** The first id of each name in the file. Names may be repeated. */
  private readonly first = new KeyMap<string>()
  /** The latest id of each name in the rows before the current row. */
  private readonly latest = new KeyMap<string>()

  scan(row: Row): void {
    const id = row.text('task id')
    if (id === '') return
    this.ids.set(id, true)
    if (!this.first.has(row.text('name'))) this.first.set(row.text('name'), shortKey(id))
  }

  finish(draft: Draft, row: Row): void {
    const { task } = draft
    if (/^(\(no section\)|untitled section)$/i.test(draft.section ?? '')) delete draft.section
    if (task.parent) this.finishParent(draft, row)
    if (task.blockedBy) this.finishBlockers(draft, row)
    if (row.text(blocking) !== '') this.finishBlocking(draft, row)
    if (task.key) this.latest.set(row.text('name'), shortKey(task.key))
  }

  private finishParent(draft: Draft, row: Row): void {
    const given = row.text('parent task id') || row.text('parent task')
    const parent = this.idOf(given)
    if (parent && parent !== draft.task.key) draft.task.parent = parent
    else {
      delete draft.task.parent
      addNote(draft, 'Parent task', given, 'The parent is not in the file')
    }
  }

  private finishBlockers(draft: Draft, row: Row): void {
    const { ids, unknown } = this.idsOf(row.text(blockedBy).split(','))
    if (ids.length > 0) draft.task.blockedBy = ids
    else delete draft.task.blockedBy
    if (unknown.length > 0) addNote(draft, 'Blocked by', unknown.join(', '), 'Blockers are not in the file')
  }

  /** The rows of the blocked tasks in the file name this blocker. */
  private finishBlocking(draft: Draft, row: Row): void {
    const { unknown } = this.idsOf(row.text(blocking).split(','))
    if (unknown.length > 0)
      addNote(draft, 'Blocking', unknown.join(', '), 'Blocked tasks are not in the file')
  }

  /** Names are separated by commas, and may contain commas. Of several matches, the longest name is used. */
  private idsOf(parts: string[]): { ids: string[]; unknown: string[] } {
    const ids: string[] = []
    const unknown: string[] = []
    for (let start = 0; start < parts.length;) {
      let end = Math.min(parts.length, start + maxNameParts)
      const name = () => parts.slice(start, end).join(',').trim()
      while (end > start + 1 && !this.idOf(name())) end--
      const id = this.idOf(name())
      if (id) ids.push(id)
      else unknown.push(name())
      start = end
    }
    return { ids, unknown }
  }

  private idOf(reference: string): string | undefined {
    if (this.ids.has(reference)) return reference
    return this.latest.get(reference) ?? this.first.get(reference)
  }
}
