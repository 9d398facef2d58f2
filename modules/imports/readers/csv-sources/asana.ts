import { readAsanaJson } from '../boards/products.ts'
import { addNote } from '../csv/cells.ts'
import { csvReader } from '../csv/csv-reader.ts'
import { type Open, readText } from '../csv/text.ts'
import type { Reader } from '../reader.ts'

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

const blocking = 'blocking dependencies'

/** The CSV file refers to other tasks by their names. */
const readAsanaCsv = csvReader(() => ({
  ...{ hasOwnColumns: true, meansNearest: true },
  columns: {
    ...{ 'task id': 'id', name: 'title', notes: 'description', 'section column': 'list', tags: 'labels' },
    ...{
      'created at': 'createdAt',
      'completed at': 'completed',
      'due date': 'dueDate',
      assignee: 'assignee',
    },
    ...{ 'assignee email': 'assigneeEmail', 'parent task': 'parent', 'parent task id': 'parent' },
    ...{ 'blocked by dependencies': 'blockedBy', [blocking]: null, 'last modified': null },
  },
  finish(draft, row, references) {
    const { task } = draft
    if (/^(\(no section\)|untitled section)$/i.test(draft.section ?? '')) delete draft.section
    if (task.parent) task.parent = row.text('parent task id') || task.parent
    // The rows of blocked tasks in the file name this task.
    const blocked = references?.referencesIn(row.text(blocking)) ?? []
    const others = blocked.filter(({ key }) => key === undefined).map(({ text }) => text)
    if (others.length > 0) addNote(draft, 'Blocking', others.join(', '), 'Blocked tasks are not in the file')
  },
}))
