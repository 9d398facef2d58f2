import { ImportError } from '../../items.ts'
import { parseObject } from '../../parse-object.ts'

/** The most bytes of a line: the longest comment takes about 120 KB as JSON. */
const maxLineBytes = 1_048_576
const lineFeed = 10

export interface Line {
  /** From 1. */
  number: number
  value: Record<string, unknown>
}

/** Parses each line of the file as a JSON object. @throws ImportError for another line */
export async function* jsonLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Line, void, void> {
  let number = 0
  let rest: Uint8Array[] = []
  let restBytes = 0
  for await (const chunk of bytes) {
    let start = 0
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      rest.push(chunk.subarray(start, end))
      start = end + 1
      yield parsed(++number, rest)
      rest = []
      restBytes = 0
    }
    if (start === chunk.length) continue
    rest.push(chunk.slice(start))
    restBytes += chunk.length - start
    if (restBytes > maxLineBytes) throw tooLong(number + 1)
  }
  if (restBytes > 0) yield parsed(number + 1, rest)
}

const at = (number: number): string => `line ${number}`
const tooLong = (number: number) =>
  new ImportError(`A line must have at most ${maxLineBytes} bytes`, at(number))

function parsed(number: number, parts: Uint8Array[]): Line {
  const whole = Buffer.concat(parts)
  if (whole.length > maxLineBytes) throw tooLong(number)
  const value = parseObject(textOf(number, whole))
  if (!value) throw new ImportError('The line is not a JSON object', at(number))
  return { number, value }
}

function textOf(number: number, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new ImportError('The line is not UTF-8', at(number))
  }
}
