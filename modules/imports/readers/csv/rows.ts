import { unescapeFormula } from '../../../exports/cells.ts'
import { ImportError } from '../../items.ts'
import { englishName } from './columns.ts'
import { linesIn, type Open, readText } from '../file.ts'

/** Many, because an export of Jira has as many comment columns as the issue with the most comments has comments. */
const maxColumns = 2_000
/** Bounds the memory for a row. Quotes around cells and separators do not count. */
const maxRowCharacters = 4 * 1024 * 1024
/** Bounds the work for a small archive that contains a file of empty lines. CRLF counts twice. */
const maxEmptyLines = 1_000_000

async function* withLineEnd(open: Open): AsyncGenerator<string> {
  yield* readText(open)
  yield '\n'
}

/** The state after a quote. `closing`: the next character must be a second quote, or end the cell. */
const afterQuote = { start: 'quoted', quoted: 'closing', closing: 'quoted', plain: 'plain' } as const

/**
 * Reads the rows of a CSV file. Empty lines are skipped; rows may have different numbers of cells. As in spreadsheets, a
 * quote in a cell that does not begin with a quote is text. A cell that begins with a quote must end with a quote, and
 * other quotes in it must be doubled.
 * @throws ImportError with the line, if the file is broken or a row is too large
 */
async function* readRecords(open: Open, delimiter: string, max = maxRowCharacters): AsyncGenerator<string[]> {
  const [special, quote] = [new RegExp(`["\r\n${delimiter}]`, 'g'), /"/g]
  let state = 'start' as keyof typeof afterQuote
  let [cells, cell]: [string[], string] = [[], '']
  let [line, quotedLine, emptyLines, characters] = [1, 1, 0, 0]
  const fail = (message: string, at = line) => new ImportError(message, `line ${at}`)
  for await (const text of withLineEnd(open))
    for (let at = 0; at < text.length;) {
      const end = state === 'quoted' ? quote : special
      end.lastIndex = at
      const to = end.test(text) ? end.lastIndex - 1 : text.length
      const [part, char] = [text.slice(at, to), text[to]]
      at = to + 1
      if (part !== '') {
        if (state === 'closing') throw fail('A quote within a quoted cell must be doubled')
        if (state === 'start') state = 'plain'
        if (state === 'quoted') line += linesIn(part)
        cell += part
        characters += part.length
      }
      if (char === '"') {
        const isText = state === 'plain' || state === 'closing'
        if (isText) [cell, characters] = [cell + char, characters + 1]
        if (state === 'start') quotedLine = line
        state = afterQuote[state]
      } else if (char !== undefined) {
        const isLineEnd = char !== delimiter
        if (state !== 'start' || cells.length > 0 || !isLineEnd) {
          cells.push(cell)
          ;[cell, state] = ['', 'start']
          if (isLineEnd) {
            yield cells
            ;[cells, characters, emptyLines] = [[], 0, 0]
          }
        } else if (++emptyLines > maxEmptyLines)
          throw new ImportError(`The file has more than ${maxEmptyLines} empty lines`)
        if (char === '\n') line++
      }
      if (characters > max || cells.length > maxColumns)
        throw fail(`A row must have at most ${maxColumns} columns and ${maxRowCharacters} characters`)
    }
  if (state === 'quoted')
    throw fail('The quote at the start of a cell is never closed. The file may be cut off', quotedLine)
}

/** Some systems write lines about the file above the header. */
const maxLinesAbove = 20
const maxNameCharacters = 500

/** @param includesTitle true for names with a column for the title @throws ImportError if the file is empty or broken */
export async function findHeader(open: Open, includesTitle: (names: string[]) => boolean): Promise<Row> {
  let [header, highest]: [Row | undefined, number] = [undefined, 0]
  let firstError: ImportError | undefined
  for (const delimiter of [',', ';', '\t', '|']) {
    let skip = 0
    try {
      for await (const record of readRecords(open, delimiter, maxColumns * maxNameCharacters)) {
        const names = record.map((cell) => cell.trim().slice(0, maxNameCharacters))
        const filled = names.filter((name) => name !== '').length
        const hasTitle = includesTitle(names)
        const rank = filled + (hasTitle ? maxColumns : 0)
        skip++
        if (rank > highest) [header, highest] = [new Row(open, delimiter, skip, names), rank]
        if (hasTitle || filled > 2 || skip > maxLinesAbove) break
      }
    } catch (error) {
      if (!(error instanceof ImportError)) throw error
      firstError ??= error
    }
  }
  // With a wrong separator, the whole header is one name.
  if (header && (!firstError || highest > 1)) return header
  throw firstError ?? new ImportError('The file is empty')
}

const maxCellCharacters = 100_000
const maxRows = 1_000_000

export class Row {
  /** From 1; the header is not counted. */
  number = 0
  cells: string[] = []
  /** The names of the columns that were read by name. */
  readonly used = new Set<string>()
  /** The plain headers in English. */
  readonly plainNames: string[]
  private readonly indexes: Map<string, number[]>

  /** @param skip the number of records up to the header, including the header */
  constructor(
    private readonly open: Open,
    private readonly delimiter: string,
    private readonly skip: number,
    readonly names: string[],
  ) {
    this.plainNames = names.map(englishName)
    this.indexes = Map.groupBy(names.keys(), (index) => this.plainNames[index]!)
  }

  /** @param name the plain header in English */
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

  /** True if a cell is longer than the text of `at`. */
  get hasLongCell(): boolean {
    return this.cells.some((cell) => cell.length > maxCellCharacters)
  }

  /** Returns the texts of the cells beyond the header. */
  get extraTexts(): string[] {
    const extra = [...this.cells.keys()].slice(this.names.length)
    return extra.map((index) => this.at(index)).filter((text) => text.trim() !== '')
  }

  /** Reads the rows below the header into this row. Rows without text are skipped. */
  async *readAll(): AsyncGenerator<void> {
    this.number = -this.skip
    for await (const cells of readRecords(this.open, this.delimiter)) {
      if (++this.number <= 0) continue
      if (this.number > maxRows) throw new ImportError(`The file has more than ${maxRows} rows. Split it`)
      this.cells = cells
      if (cells.some((cell) => cell.trim() !== '')) yield
    }
  }
}
