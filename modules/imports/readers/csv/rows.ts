import { unescapeFormula } from '../../../exports/cells.ts'
import { ImportError } from '../../items.ts'
import type { Header } from './header.ts'
import { plain } from './columns/header-names.ts'
import { readRecords } from './records.ts'
import type { Open } from './text.ts'

const maxRows = 1_000_000
const maxCellCharacters = 100_000

/** A row of the file, and its cells by plain header. */
export class Row {
  /** From 1; the header is not counted. */
  number = 0
  cells: string[] = []
  private readonly indexes = new Map<string, number[]>()

  constructor(names: string[]) {
    for (const [index, name] of names.entries()) {
      const indexes = this.indexes.get(plain(name)) ?? []
      this.indexes.set(plain(name), [...indexes, index])
    }
  }

  has(name: string): boolean {
    return this.indexes.has(name)
  }

  /** Returns the text of the first such column that has one, or an empty text. */
  text(name: string): string {
    return this.texts(name)[0] ?? ''
  }

  texts(name: string): string[] {
    const indexes = this.indexes.get(name) ?? []
    return indexes.map((index) => this.at(index).trim()).filter((text) => text !== '')
  }

  at(index: number): string {
    const cell = this.cells[index]
    return cell === undefined ? '' : unescaped(cell)
  }
}

/** Reads the rows below the header. The same object is used for all rows. Rows without text are skipped. */
export async function* readRows(open: Open, { delimiter, names, skip }: Header): AsyncGenerator<Row> {
  const row = new Row(names)
  let above = skip
  for await (const cells of readRecords(open, delimiter)) {
    if (above-- > 0) continue
    row.number++
    if (row.number > maxRows) throw new ImportError(`The file has more than ${maxRows} rows. Split it`)
    row.cells = cells
    if (cells.some((cell) => cell.trim() !== '')) yield row
  }
}

/** Returns lines for the report, if the row does not fit the header. */
export function unevenCells({ cells }: Row, columns: number): { messages: string[]; notes: string[] } {
  const messages: string[] = []
  const extra = cells.slice(columns).filter((cell) => cell.trim() !== '')
  if (cells.length < columns || extra.length > 0)
    messages.push(`The row has ${cells.length} cells; the header has ${columns}`)
  if (cells.some((cell) => cell.length > maxCellCharacters))
    messages.push(`Texts longer than ${maxCellCharacters} characters were cut`)
  return { messages, notes: extra.map((cell) => `Without a header: ${unescaped(cell)}`) }
}

function unescaped(cell: string): string {
  const text = cell.startsWith("'") ? unescapeFormula(cell) : cell
  return text.length > maxCellCharacters
    ? text.slice(0, maxCellCharacters).replace(/[\ud800-\udbff]$/, '')
    : text
}
