import { unescapeFormula } from '../../../exports/cells.ts'
import { ImportError } from '../../items.ts'
import { linesIn, type Open, readText } from './text.ts'

/** Many, because an export of Jira has as many comment columns as the issue with the most comments has comments. */
const maxColumns = 2_000
/** Bounds the memory for a row. Quotes and separators do not count. */
const maxRowCharacters = 4 * 1024 * 1024
/** Bounds the work for a small archive that contains a file of empty lines. CRLF counts twice. */
const maxEmptyLines = 1_000_000

/**
 * Reads the rows of a CSV file. Empty lines are skipped; rows may have different numbers of cells.
 * @throws ImportError with the line, if the file is broken or a row is too large
 */
async function* readRecords(
  open: Open,
  delimiter: string,
  maxCharacters = maxRowCharacters,
): AsyncGenerator<string[]> {
  const parser = new RecordParser(delimiter, maxCharacters)
  for await (const text of readText(open)) yield* parser.read(text)
  parser.requireClosed()
  yield* parser.read('\n')
}

/**
 * Parses the pieces of a CSV text. As in spreadsheets, a quote in a cell that does not begin with a quote is text. A cell
 * that begins with a quote must end with a quote, and other quotes in it must be doubled.
 */
class RecordParser {
  private readonly ends: RegExp
  private cells: string[] = []
  private cell = ''
  private characters = 0
  /** `closing`: after a quote in a quoted cell. The next character must be a second quote, or end the cell. */
  private state: 'start' | 'plain' | 'quoted' | 'closing' = 'start'
  private line = 1
  private quotedLine = 1
  private emptyLines = 0

  constructor(
    private readonly delimiter: string,
    private readonly maxCharacters: number,
  ) {
    this.ends = new RegExp(`[${delimiter}\r\n]`, 'g')
  }

  *read(text: string): Generator<string[]> {
    for (let at = 0; at < text.length; at++) {
      if (this.state !== 'quoted' && this.state !== 'plain' && text[at] === '"') {
        if (this.state === 'closing') this.add('"')
        else this.quotedLine = this.line
        this.state = 'quoted'
      } else if (this.state === 'quoted') at = this.readQuoted(text, at)
      else {
        at = this.readPlain(text, at)
        const record = at < text.length && this.endCell(text[at]!)
        if (record) yield record
      }
    }
  }

  requireClosed(): void {
    if (this.state !== 'quoted') return
    const message = 'The quote at the start of a cell is never closed. The file may be cut off'
    throw new ImportError(message, `line ${this.quotedLine}`)
  }

  /** Returns the offset of the quote that is not doubled, or the end of the text. */
  private readQuoted(text: string, start: number): number {
    let end = text.indexOf('"', start)
    while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2)
    const part = text.slice(start, end < 0 ? undefined : end)
    this.line += linesIn(part)
    this.add(part.replaceAll('""', '"'))
    if (end >= 0) this.state = 'closing'
    return start + part.length
  }

  /** Returns the offset of the character that ends the cell, or the end of the text. */
  private readPlain(text: string, start: number): number {
    this.ends.lastIndex = start
    const end = this.ends.exec(text)?.index ?? text.length
    if (end > start && this.state === 'closing')
      throw new ImportError('A quote within a quoted cell must be doubled', `line ${this.line}`)
    if (end > start) this.state = 'plain'
    this.add(text.slice(start, end))
    return end
  }

  private add(part: string): void {
    this.cell += part
    this.characters += part.length
    if (this.characters <= this.maxCharacters && this.cells.length < maxColumns) return
    const message = `A row must have at most ${maxColumns} columns and ${maxRowCharacters} characters`
    throw new ImportError(message, `line ${this.line}`)
  }

  /** Returns the row that ends here. */
  private endCell(end: string): string[] | undefined {
    const isEmptyLine = this.state === 'start' && this.cells.length === 0 && end !== this.delimiter
    if (end === '\n') this.line++
    if (isEmptyLine) {
      if (++this.emptyLines <= maxEmptyLines) return undefined
      throw new ImportError(`The file has more than ${maxEmptyLines} empty lines`)
    }
    this.cells.push(this.cell)
    this.cell = ''
    this.state = 'start'
    if (end === this.delimiter) return undefined
    const record = this.cells
    this.cells = []
    this.characters = 0
    this.emptyLines = 0
    return record
  }
}

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
  let mostAbove = 0
  let skip = 0
  for await (const record of readRecords(open, delimiter, maxColumns * maxNameCharacters)) {
    const names = record.map((cell) => cell.trim().slice(0, maxNameCharacters))
    const filled = names.filter((name) => name !== '').length
    const header = { delimiter, skip: ++skip, names }
    if (filled > 0 && names.some(isTitle) && (mostAbove < 2 || filled > 2)) return header
    if (filled > 2 || skip > maxLinesAbove) return first ?? header
    if (filled > mostAbove) {
      first = header
      mostAbove = filled
    }
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
  /** The names of the columns that were read by name. */
  readonly used = new Set<string>()
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
    this.used.add(name)
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

/** Reads the rows below the header into `row`. Rows without text are skipped. */
export async function* readRows(open: Open, { delimiter, skip, names }: Header, row: Row) {
  let above = skip
  row.number = 0
  for await (const cells of readRecords(open, delimiter)) {
    if (above-- > 0) continue
    row.number++
    if (row.number > maxRows) throw new ImportError(`The file has more than ${maxRows} rows. Split it`)
    row.cells = cells
    row.repeatsHeader = names.length > 1 && names.every((name, i) => row.at(i).trim() === name)
    if (cells.some((cell) => cell.trim() !== '')) yield
  }
}
