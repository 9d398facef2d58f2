import { ImportError } from '../../items.ts'
import { countLines } from './decode.ts'

const quote = 34
const lineFeed = 10
const carriageReturn = 13

/**
 * Checks that a quoted cell ends with a quote, and that other quotes in it are doubled. A quote in a cell that does not
 * begin with a quote is text, as in spreadsheets. The parser is set to accept such texts, so it does not check quotes.
 * @throws ImportError with the line
 */
export async function* checkQuotes(
  text: AsyncIterable<Uint8Array>,
  delimiter: string,
): AsyncGenerator<Uint8Array> {
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
