import { ImportError } from '../../items.ts'
import type { Header } from './header.ts'
import { readRecords } from './records.ts'
import { maxCellCharacters, Row, unescaped } from './row.ts'
import type { Open } from './text.ts'

const maxRows = 1_000_000

/**
 * Reads the rows below the header. All rows are the same object. Rows without text are skipped.
 * @param names the headers in plain English
 */
export async function* readRows(
  open: Open,
  { delimiter, skip, names: headers }: Header,
  names: string[],
): AsyncGenerator<Row> {
  const row = new Row(names)
  let above = skip
  for await (const cells of readRecords(open, delimiter)) {
    if (above-- > 0) continue
    row.number++
    if (row.number > maxRows) throw new ImportError(`The file has more than ${maxRows} rows. Split it`)
    row.cells = cells
    row.repeatsHeader = headers.length > 1 && headers.every((name, i) => row.at(i).trim() === name)
    if (cells.some((cell) => cell.trim() !== '')) yield row
  }
}

/** Returns lines for the report, if the row does not fit the header. */
export function unevenCells({ cells }: Row, columns: number): { messages: string[]; notes: string[] } {
  const messages: string[] = []
  const extra = cells.slice(columns).filter((cell) => cell.trim() !== '')
  if (cells.length < columns || extra.length > 0) {
    const advice = extra.length > 0 ? ': a cell that contains the separator must be quoted' : ''
    messages.push(
      `The row has ${cells.length} ${cells.length === 1 ? 'cell' : 'cells'}, and the header ${columns}${advice}`,
    )
  }
  if (cells.some((cell) => cell.length > maxCellCharacters))
    messages.push(`A cell was cut at ${maxCellCharacters} characters`)
  return { messages, notes: extra.map((cell) => `Without a header: ${unescaped(cell)}`) }
}
