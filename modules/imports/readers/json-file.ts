import { JSONParser, TokenizerError, TokenParserError, TokenType } from '@streamparser/json'
import { ImportError } from '../items.ts'
import { linesIn, type Open, readText } from './file.ts'

/** The maximum number of levels of objects and lists. */
const maxDepth = 64
/** The longest text, also one that is not imported, such as the bytes of an attachment. */
const maxTextBytes = 16 * 1024 * 1024
/** The largest part of a file that is in memory at once, such as a card. */
const maxSize = 20_000_000
/** The part of the size that each token adds to its characters. */
const tokenSize = 10
const bufferBytes = 64 * 1024

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/**
 * An object of the file, such as a card. Methods take the path of a value, such as `data.card.id`, or several paths
 * with `|` between them: the first path with a value counts. Null and blank texts are no values.
 */
export class Entry {
  constructor(
    /** The pattern that selected the object. */
    readonly part: string,
    /** The place in the file, such as `checklists.3`. */
    readonly path: string,
    readonly value: Record<string, Json>,
    /** The number of the object among those of its pattern, from 1. Objects inside it have the same number. */
    readonly row: number,
  ) {}

  get(paths: string): Json | undefined {
    for (const path of paths.split('|')) {
      let value: Json | undefined = this.value
      for (const key of path.split('.'))
        value = (value as Record<string, Json> | undefined)?.[key] ?? undefined
      if (value !== undefined && !(typeof value === 'string' && value.trim() === '')) return value
    }
    return undefined
  }

  /** True for each value except false and 0. */
  isSet(paths: string): boolean {
    return Boolean(this.get(paths))
  }

  /** Returns a value that is no text as JSON. */
  text(paths: string): string | undefined {
    const value = this.get(paths)
    return value === undefined ? undefined : textOf(value)
  }

  /** @throws ImportError without a value */
  required(paths: string): string {
    const text = this.text(paths)
    if (text === undefined)
      throw new ImportError(`${this.path || 'An object'} has no ${paths.split('|').at(-1)}`)
    return text
  }

  number(path: string): number | undefined {
    const value = this.get(path)
    return typeof value === 'number' ? value : undefined
  }

  /** Returns the values of a list, or of an object whose keys are ids. */
  list(path: string): Json[] {
    const value = this.get(path)
    return typeof value === 'object' && value !== null
      ? Object.values(value).filter((one) => one !== null)
      : []
  }

  entries(path: string): Entry[] {
    return this.list(path).flatMap((value) => (isObject(value) ? this.inside(value) : []))
  }

  inside(value: Record<string, Json>): Entry {
    return new Entry(this.part, this.path, value, this.row)
  }
}

export const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

export const isObject = (value: Json | undefined): value is Record<string, Json> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns undefined for a text that is not a JSON object. */
export function parseObject(text: string): Record<string, Json> | undefined {
  try {
    const value: Json = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * Reads the objects that match a pattern, those inside an object before it: one JSON document, or several one after the
 * other. An object contains no objects that match another pattern.
 * @param patterns such as `cards.*`: keys, and `*` for an entry of a list or a number as key. A pattern that ends with a
 * key also matches a text, which is returned as an object with this key
 * @throws ImportError if the file is broken, or larger than a limit
 */
export async function* readEntries(open: Open, patterns: string[]): AsyncGenerator<Entry> {
  const { parser, ready, latest } = openParser(patterns)
  let [bytes, line] = [0, 1]
  for await (const text of readText(open)) {
    const piece = Buffer.from(text)
    try {
      parser.write(piece)
      if (bytes + piece.length - latest.offset > maxTextBytes)
        throw new ImportError(`A value is longer than ${maxTextBytes.toLocaleString('en')} bytes`)
    } catch (error) {
      const { message } = error as Error
      const isOfFile = [ImportError, TokenizerError, TokenParserError].some((one) => error instanceof one)
      if (!isOfFile) throw error
      // The tokenizer has no other way to return the position of an unexpected character.
      const at = Number(/absolute position "(\d+)"/.exec(message)?.[1] ?? latest.offset)
      const place = `line ${line + linesIn(piece.subarray(0, Math.max(at - bytes, 0)).toString())}`
      throw new ImportError(error instanceof ImportError ? message : 'The file is not valid JSON', place)
    }
    yield* ready.splice(0)
    bytes += piece.length
    line += linesIn(text)
  }
  try {
    parser.end()
  } catch {
    throw new ImportError('The file ends in the middle of a value: it may be cut off', `line ${line}`)
  }
  if (latest.offset < 0) throw new ImportError('The file is empty')
}

/** True if a pattern matches only objects. */
const isOfObjects = (pattern: string): boolean => pattern === '' || pattern.endsWith('*')

/** Returns a parser that adds objects to `ready`. `latest` has the position of the latest token, in bytes. */
function openParser(patterns: string[]) {
  const parser = new JSONParser({
    paths: patterns.map((pattern) => (pattern === '' ? '$' : `$.${pattern}`)),
    ...{ keepStack: false, separator: '', stringBufferSize: bufferBytes, numberBufferSize: bufferBytes },
  })
  /** The number of levels above the objects that match. */
  const levels = Math.min(
    ...patterns.filter(isOfObjects).map((pattern) => (pattern === '' ? 0 : pattern.split('.').length)),
  )
  const [ready, rows, latest] = [[] as Entry[], new Map<string, number>(), { offset: -1 }]
  /** The size in memory, what it was at the start of each open object and list, and at the start of the latest value. */
  let [size, before] = [0, 0]
  const sizes: number[] = []

  parser.onToken = ({ token, value, offset }) => {
    latest.offset = offset
    const isStart = token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET
    if (isStart && sizes.push(size) > maxDepth)
      throw new ImportError(`The file is nested deeper than ${maxDepth} levels`)
    size += tokenSize + (typeof value === 'string' ? value.length : 0)
    if (size > maxSize)
      throw new ImportError(`An object is larger than ${maxSize.toLocaleString('en')} characters`)
    if (value === Infinity || value === -Infinity) throw new ImportError('A number is too large')
    const isEnd = token === TokenType.RIGHT_BRACE || token === TokenType.RIGHT_BRACKET
    before = isEnd ? sizes.pop()! : 0
    // Of the values that are not taken, the parser keeps only those inside an object that matches.
    if (sizes.length <= levels) size = before
  }
  parser.onValue = ({ value, key, parent, stack }) => {
    const path = stack.length === 0 ? [] : [...stack.slice(1).map((one) => one.key!), key!]
    const part = path.map((one) => (/^\d+$/.test(String(one)) ? '*' : one)).join('.')
    const found = typeof value === 'string' && !isOfObjects(part) ? { [key!]: value } : value
    if (!patterns.includes(part) || !isObject(found as Json | undefined)) return
    rows.set(part, (rows.get(part) ?? 0) + 1)
    ready.push(new Entry(part, path.join('.'), found as Entry['value'], rows.get(part)!))
    size = before
    if (Array.isArray(parent)) parent.length = 0
    else if (parent) delete parent[key!]
  }
  return { parser, ready, latest }
}
