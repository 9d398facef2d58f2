import { shortKey } from '../../convert/keys.ts'
import { addNote, type Draft } from '../csv/cells.ts'
import { type CsvFormat, csvReader } from '../csv/csv-reader.ts'
import type { Row } from '../csv/rows.ts'
import { type Open, readText } from '../csv/text.ts'
import { readAsanaJson } from '../asana-json.ts'
import { KeyMap } from '../key-map.ts'
import type { Reader } from '../reader.ts'

const blocking = 'blocking dependencies'
/** In a cell with more than `maxSearched` commas, names with commas are not searched. */
const [maxNameParts, maxSearched] = [10, 1_000]

/** Reads the CSV or JSON export of an Asana project. */
export const readAsana: Reader = async function* (input) {
  yield* (await isJson(input.open)) ? readAsanaJson(input) : readAsanaCsv(input)
}

/** A JSON text begins with a brace or a bracket, a CSV file with the name of a column. */
async function isJson(open: Open): Promise<boolean> {
  for await (const text of readText(open)) {
    const start = text.trimStart()
    if (start !== '') return start.startsWith('{') || start.startsWith('[')
  }
  return false
}

/** The CSV file refers to other tasks by their names. */
class AsanaFormat implements CsvFormat {
  readonly hasOwnColumns = true
  readonly columns = {
    ...{ 'task id': 'id', name: 'title', notes: 'description', 'section column': 'list', tags: 'labels' },
    ...{
      'created at': 'createdAt',
      'completed at': 'completed',
      'last modified': null,
      'due date': 'dueDate',
    },
    ...{ assignee: 'assignee', 'assignee email': 'assigneeEmail', 'parent task': 'parent' },
    ...{ 'parent task id': 'parent', 'blocked by dependencies': 'blockedBy', [blocking]: null },
  }
  private readonly ids = new KeyMap<true>()
  /** The first id of each name in the file. Names may be repeated. */
  private readonly first = new KeyMap<string>()
  /** The latest id of each name in the rows before the current row. */
  private readonly latest = new KeyMap<string>()

  scan(row: Row): void {
    const [id, name] = [row.text('task id'), row.text('name')]
    if (id === '') return
    this.ids.set(id, true)
    if (!this.first.has(name)) this.first.set(name, shortKey(id))
  }

  finish(draft: Draft, row: Row): void {
    const { task } = draft
    if (/^(\(no section\)|untitled section)$/i.test(draft.section ?? '')) delete draft.section
    if (task.parent) {
      const given = row.text('parent task id') || row.text('parent task') || task.parent
      const parent = this.idOf(given)
      task.parent = parent && parent !== task.key ? parent : given
    }
    if (task.blockedBy) task.blockedBy = this.referencesIn(row.text('blocked by dependencies'))
    // The rows of blocked tasks in the file name this task.
    const others = this.referencesIn(row.text(blocking)).filter((one) => !this.ids.has(one))
    if (others.length > 0) addNote(draft, 'Blocking', others.join(', '), 'Blocked tasks are not in the file')
    if (task.key) this.latest.set(row.text('name'), shortKey(task.key))
  }

  /**
   * Returns the ids of tasks, or names that are not in the file. Names are separated by commas, and may contain commas.
   * Of several matches, the longest name is used.
   */
  private referencesIn(cell: string): string[] {
    const parts = cell.split(',')
    const found: string[] = []
    const maxParts = parts.length > maxSearched ? 1 : maxNameParts
    for (let start = 0; start < parts.length;) {
      let end = Math.min(parts.length, start + maxParts)
      const name = () => parts.slice(start, end).join(',').trim()
      while (end > start + 1 && !this.idOf(name())) end--
      found.push(this.idOf(name()) ?? name())
      start = end
    }
    return found.filter((one) => one !== '')
  }

  private idOf(reference: string): string | undefined {
    if (this.ids.has(reference)) return reference
    return this.latest.get(reference) ?? this.first.get(reference)
  }
}

const readAsanaCsv = csvReader(() => new AsanaFormat())
