import { ImportError } from '../../items.ts'
import { linesIn, type Open, readText } from './text.ts'

/** Many, because an export of Jira has as many comment columns as the issue with the most comments has comments. */
export const maxColumns = 2_000
/** Bounds the memory for a row. Quotes and separators do not count. */
const maxRowCharacters = 4 * 1024 * 1024
/** Bounds the work for a small archive that contains a file of empty lines. CRLF counts twice. */
const maxEmptyLines = 1_000_000

/**
 * Reads the rows of a CSV file. Empty lines are skipped; rows may have different numbers of cells.
 * @throws ImportError with the line, if the file is broken or a row is too large
 */
export async function* readRecords(
  open: Open,
  delimiter: string,
  maxCharacters = maxRowCharacters,
): AsyncGenerator<string[]> {
  const parser = new RecordParser(delimiter, maxCharacters)
  for await (const text of readText(open)) yield* parser.read(text)
  const last = parser.end()
  if (last) yield last
}

/**
 * Parses the pieces of a CSV text. As in spreadsheets, a quote in a cell that does not begin with a quote is text. A cell
 * that begins with a quote must end with a quote, and other quotes in it must be doubled. No CSV package checks both.
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

  /** Returns the last row. */
  end(): string[] | undefined {
    if (this.state === 'quoted')
      throw new ImportError(
        'The quote at the start of a cell is never closed. The file may be cut off',
        `line ${this.quotedLine}`,
      )
    return this.endCell('\n')
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
