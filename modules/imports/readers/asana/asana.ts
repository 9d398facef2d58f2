import { readAsanaCsv } from './asana-csv.ts'
import { readText } from '../csv/text.ts'
import { readAsanaJson } from './asana-json.ts'
import type { Reader } from '../reader.ts'

/** Asana exports projects as CSV and as JSON. */
export const readAsana: Reader = async function* (input) {
  yield* (await isJson(input.open)) ? readAsanaJson(input) : readAsanaCsv(input)
}

/** A JSON text begins with a brace or a bracket, a CSV file with the name of a column. */
async function isJson(open: () => AsyncIterable<Uint8Array>): Promise<boolean> {
  for await (const text of readText(open)) {
    const start = new TextDecoder().decode(text).trimStart()
    if (start !== '') return start.startsWith('{') || start.startsWith('[')
  }
  return false
}
