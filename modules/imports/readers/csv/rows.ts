import { unescapeFormula } from '../../../exports/cells.ts'
import { ImportError } from '../../items.ts'
import { linesIn, type Open, readText } from './text.ts'

/** Many, because an export of Jira has as many comment columns as the issue with the most comments has comments. */
const maxColumns = 2_000
/** Bounds the memory for a row. Quotes and separators do not count. */
const maxRowCharacters = 4 * 1024 * 1024
/** Bounds the work for a small archive that contains a file of empty lines. CRLF counts twice. */
const maxEmptyLines = 1_000_000

async function* withLineEnd(open: Open): AsyncGenerator<string> {
  yield* readText(open)
  yield '\n'
}

/**
 * Reads the rows of a CSV file. Empty lines are skipped; rows may have different numbers of cells. As in spreadsheets, a
 * quote in a cell that does not begin with a quote is text. A cell that begins with a quote must end with a quote, and
 * other quotes in it must be doubled.
 * @throws ImportError with the line, if the file is broken or a row is too large
 */
async function* readRecords(open: Open, delimiter: string, max = maxRowCharacters): AsyncGenerator<string[]> {
  const tokens = new RegExp(`["\r\n${delimiter}]|[^"\r\n${delimiter}]+`, 'y')
  const quotedTokens = /(?:[^"]+|"")+|"/y
  const ends = new Set([delimiter, '\n', '\r'])
  /** `closing`: after a quote in a quoted cell. The next character must be a second quote, or end the cell. */
  let state = 'start' as 'start' | 'plain' | 'quoted' | 'closing'
  let [cells, cell]: [string[], string] = [[], '']
  let [line, quotedLine, emptyLines, characters] = [1, 1, 0, 0]
  for await (const text of withLineEnd(open))
    for (let at = 0; at < text.length;) {
      const pattern = state === 'quoted' ? quotedTokens : tokens
      pattern.lastIndex = at
      const token = pattern.exec(text)![0]
      at += token.length
      const isEnd = state !== 'quoted' && ends.has(token)
      if (token === '"' && state === 'quoted') state = 'closing'
      else if (token === '"' && state === 'start') [state, quotedLine] = ['quoted', line]
      else if (!isEnd) {
        if (state === 'closing' && token !== '"')
          throw new ImportError('A quote within a quoted cell must be doubled', `line ${line}`)
        state = state === 'closing' || state === 'quoted' ? 'quoted' : 'plain'
        const part = state === 'quoted' ? token.replaceAll('""', '"') : token
        cell += part
        characters += part.length
      } else if (state === 'start' && cells.length === 0 && token !== delimiter) {
        if (++emptyLines > maxEmptyLines)
          throw new ImportError(`The file has more than ${maxEmptyLines} empty lines`)
      } else {
        cells.push(cell)
        ;[cell, state] = ['', 'start']
        if (token !== delimiter) {
          yield cells
          ;[cells, characters, emptyLines] = [[], 0, 0]
        }
      }
      if (characters > max || cells.length > maxColumns)
        throw new ImportError(
          `A row must have at most ${maxColumns} columns and ${maxRowCharacters} characters`,
          `line ${line}`,
        )
      line += linesIn(token)
    }
  if (state === 'quoted')
    throw new ImportError(
      'The quote at the start of a cell is never closed. The file may be cut off',
      `line ${quotedLine}`,
    )
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

/** @param isTitle true for the names of columns that can be the title @throws ImportError if the file is empty or broken */
export async function findHeader(open: Open, isTitle: (name: string) => boolean): Promise<Header> {
  let best: { header: Header; rank: number } | undefined
  let firstError: ImportError | undefined
  for (const delimiter of delimiters) {
    try {
      const header = await headerWith(open, delimiter, isTitle)
      const rank = header ? header.names.length + (header.names.some(isTitle) ? maxColumns : 0) : 0
      if (header && rank > (best?.rank ?? 0)) best = { header, rank }
    } catch (error) {
      if (!(error instanceof ImportError)) throw error
      firstError ??= error
    }
  }
  // With a wrong separator, the whole header is one name.
  if (best && (!firstError || best.rank > 1)) return best.header
  throw firstError ?? new ImportError('The file is empty')
}

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
    if (filled > mostAbove) [first, mostAbove] = [header, filled]
  }
  return first
}

const maxCellCharacters = 100_000
const maxRows = 1_000_000

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
