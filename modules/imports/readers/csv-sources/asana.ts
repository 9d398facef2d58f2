import { readAsanaJson } from '../boards/products.ts'
import { addNote } from '../csv/cells.ts'
import { csvReader } from '../csv/csv-reader.ts'
import { type Open, readText } from '../csv/text.ts'
import type { Reader } from '../reader.ts'
import words from '../../words.json' with { type: 'json' }

/** Reads the CSV or JSON export of an Asana project. */
export const readAsana: Reader = async function* (input) {
  yield* (await isJson(input.open)) ? readAsanaJson(input) : readAsanaCsv(input)
}

/** A JSON text begins with a brace or a bracket, a CSV file with the name of a column. */
async function isJson(open: Open): Promise<boolean> {
  for await (const text of readText(open)) if (/\S/.test(text)) return /^\s*[{[]/.test(text)
  return false
}

/** The CSV file refers to other tasks by their names. */
const readAsanaCsv = csvReader((file) => ({
  ...{ columns: words.columns.asana, hasOwnColumns: true, meansNearest: true },
  finish(draft, row) {
    const { task } = draft
    if (/^(\(no section\)|untitled section)$/i.test(draft.section ?? '')) delete draft.section
    if (task.parent) task.parent = row.text('parent task id') || task.parent
    // The rows of blocked tasks in the file name this task.
    const blocked = file.references!.referencesIn(row.text('blocking dependencies'))
    const others = blocked.flatMap(({ key, text }) => (key === undefined ? text : []))
    if (others.length > 0) addNote(draft, 'Blocking', others.join(', '), 'Blocked tasks are not in the file')
  },
}))
