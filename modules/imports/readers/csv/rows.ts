import { unescapeFormula } from '../../../exports/cells.ts'
import { ImportError } from '../../items.ts'
import { maxColumns, readRecords } from './records.ts'
import type { Open } from './text.ts'

export interface Header {
  delimiter: string
  /** The number of records up to the header, including the header. */
  skip: number
  names: string[]
}

const delimiters = [',', ';', '\t', '|']
/** Some systems write lines about the file above the header. */
const maxLinesAbove = 20
const maxNameCharacters = 500

/**
 * Finds the separator and the header of a CSV file.
 * @param isTitle true for the names of columns that can be the title
 * @throws ImportError if the file is empty or broken
 */
export async function findHeader(open: Open, isTitle: (name: string) => boolean): Promise<Header> {
  let best: { header: Header; rank: number } | undefined
  let error: unknown
  for (const delimiter of delimiters) {
    try {
      const header = await headerWith(open, delimiter, isTitle)
      const rank = header ? header.names.length + (header.names.some(isTitle) ? maxColumns : 0) : 0
      if (header && rank > (best?.rank ?? 0)) best = { header, rank }
    } catch (failure) {
      if (lineOf(failure) > lineOf(error)) error = failure
    }
  }
  // With a wrong separator, the whole header is one name.
  if (best && (!error || best.rank > 1)) return best.header
  throw error ?? new ImportError('The file is empty')
}

/** Returns the line of an error; infinity for an unexpected error, which takes precedence. */
const lineOf = (error: unknown): number =>
  error instanceof ImportError ? Number(/ (\d+)\)$/.exec(error.message)?.[1] ?? 0) : error ? Infinity : -1

async function headerWith(open: Open, delimiter: string, isTitle: (name: string) => boolean) {
  let first: Header | undefined
  let skip = 0
  for await (const record of readRecords(open, delimiter, maxColumns * maxNameCharacters)) {
    const names = record.map((cell) => cell.trim().slice(0, maxNameCharacters))
    const filled = names.filter((name) => name !== '').length
    const header = { delimiter, skip: ++skip, names }
    if (filled > 0 && names.some(isTitle)) return header
    if (filled > 1 || skip > maxLinesAbove) return first ?? header
    if (filled === 1) first ??= header
  }
  return first
}

const maxCellCharacters = 100_000
const maxRows = 1_000_000

/** A row of the file, and its cells by plain header. */
export class Row {
  /** From 1; the header is not counted. */
  number = 0
  cells: string[] = []
  /** True for the header of a second file that was appended. */
  repeatsHeader = false
  private readonly indexes: Map<string, number[]>

  /** @param names the headers in plain English */
  constructor(names: string[]) {
    this.indexes = Map.groupBy(names.keys(), (index) => names[index]!)
  }

  /** Returns the first text in the columns with this name, or an empty text. */
  text(name: string): string {
    return this.texts(name)[0] ?? ''
  }

  texts(name: string): string[] {
    const texts = this.indexes.get(name)?.map((index) => this.at(index).trim()) ?? []
    return texts.filter((text) => text !== '')
  }

  at(index: number): string {
    const cell = this.cells[index] ?? ''
    const text = cell.startsWith("'") ? unescapeFormula(cell) : cell
    if (text.length <= maxCellCharacters) return text
    return text.slice(0, maxCellCharacters).replace(/[\ud800-\udbff]$/, '')
  }

  /** Returns lines for the report and for the foot of the description, if the row does not fit the header. */
  uneven(columns: number): { messages: string[]; notes: string[] } {
    const { cells } = this
    const messages: string[] = []
    const extra = [...cells.keys()].slice(columns).filter((index) => cells[index]!.trim() !== '')
    if (cells.length < columns || extra.length > 0) {
      const advice = extra.length > 0 ? ': a cell that contains the separator must be quoted' : ''
      const count = `${cells.length} ${cells.length === 1 ? 'cell' : 'cells'}`
      messages.push(`The row has ${count}, and the header ${columns}${advice}`)
    }
    if (cells.some((cell) => cell.length > maxCellCharacters))
      messages.push(`A cell was cut at ${maxCellCharacters} characters`)
    return { messages, notes: extra.map((index) => `Without a header: ${this.at(index)}`) }
  }
}

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
