import { pipeline, Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { ImportError } from '../../items.ts'
import { countLines, lineAt, type Open, readText } from './text.ts'

/** Many, because an export of Jira has as many comment columns as the issue with the most comments has comments. */
export const maxColumns = 2_000
/** Bounds the memory for a row. Quotes and separators do not count. */
const maxRowCharacters = 4 * 1024 * 1024
/** Bounds the work for a small archive that contains a file of empty lines. */
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
  const parser = parse({
    delimiter,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: maxCharacters,
    // The rest of a row with more columns becomes the text of one cell, which `max_record_size` bounds.
    ignore_last_delimiters: maxColumns + 1,
  })
  const text = limitEmptyLines(checkQuotes(readText(open), delimiter), () => parser.info.empty_lines)
  pipeline(Readable.from(text), parser, () => {})
  try {
    for await (const record of parser) {
      if (record.length > maxColumns) throw new ImportError(tooLarge, `row ${parser.info.records}`)
      yield record
    }
  } catch (error) {
    throw error instanceof CsvError ? await importError(error, open) : error
  }
}

async function* limitEmptyLines(text: AsyncIterable<Uint8Array>, emptyLines: () => number) {
  for await (const part of text) {
    if (emptyLines() > maxEmptyLines)
      throw new ImportError(`The file has more than ${maxEmptyLines} empty lines`)
    yield part
  }
}

const tooLarge = `A row must have at most ${maxColumns} columns and ${maxRowCharacters} characters`
const problems: Record<string, string> = {
  CSV_QUOTE_NOT_CLOSED: 'The quote at the start of a cell is never closed. The file may be cut off',
}

async function importError({ code, column, bytes }: CsvError, open: Open): Promise<ImportError> {
  const problem = Number(column) < maxColumns ? problems[code] : undefined
  return new ImportError(problem ?? tooLarge, `line ${await lineAt(open, Number(bytes))}`)
}

const quote = 34
const lineFeed = 10
const carriageReturn = 13

/**
 * Checks that a quoted cell ends with a quote, and that other quotes in it are doubled. A quote in a cell that does not
 * begin with a quote is text, as in spreadsheets. The parser is set to accept such texts, so it does not check quotes.
 * @throws ImportError with the line
 */
async function* checkQuotes(text: AsyncIterable<Uint8Array>, delimiter: string): AsyncGenerator<Uint8Array> {
  const quotes = new Quotes(delimiter.charCodeAt(0))
  let line = 1
  for await (const part of text) {
    const error = quotes.findError(part)
    if (error >= 0)
      throw new ImportError(
        'A quote within a quoted cell must be doubled',
        `line ${line + countLines(part.subarray(0, error))}`,
      )
    line += countLines(part)
    yield part
  }
}

class Quotes {
  private isQuoted = false
  private before = lineFeed
  /** True after a quote in a quoted cell: the next byte must be a second quote, or end the cell. */
  private isAfterQuote = false

  constructor(private readonly separator: number) {}

  /** Returns the index of the character that follows a wrong quote, or -1. */
  findError(part: Uint8Array): number {
    for (let at = 0; at < part.length; at++) {
      if (!this.isAfterQuote) {
        const next = part.indexOf(quote, at)
        if (next > at) this.before = part[next - 1]!
        if (next < 0) {
          this.before = part.at(-1)!
          return -1
        }
        at = next
      }
      const byte = part[at]!
      if (this.isAfterQuote) {
        this.isAfterQuote = false
        this.isQuoted = byte === quote
        if (!this.isQuoted && !this.isEnd(byte)) return at
      } else if (this.isQuoted) this.isAfterQuote = true
      else this.isQuoted = this.isEnd(this.before)
      this.before = byte
    }
    return -1
  }

  private isEnd(byte: number): boolean {
    return byte === this.separator || byte === lineFeed || byte === carriageReturn
  }
}
