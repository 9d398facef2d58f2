import { Tokenizer, TokenizerError, TokenParser, TokenParserError, TokenType } from '@streamparser/json'
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
  const parser = new EntryParser(patterns)
  let [bytes, line] = [0, 1]
  for await (const text of readText(open)) {
    const piece = Buffer.from(text)
    try {
      parser.write(piece)
    } catch (error) {
      const { message } = error as Error
      const isOfFile = [ImportError, TokenizerError, TokenParserError].some((one) => error instanceof one)
      if (!isOfFile) throw error
      // The tokenizer has no other way to return the position of an unexpected character.
      const at = Number(/absolute position "(\d+)"/.exec(message)?.[1] ?? parser.offset)
      const place = `line ${line + linesIn(piece.subarray(0, Math.max(at - bytes, 0)).toString())}`
      throw new ImportError(error instanceof ImportError ? message : 'The file is not valid JSON', place)
    }
    yield* parser.ready.splice(0)
    bytes += piece.length
    line += linesIn(text)
  }
  parser.end(`line ${line}`)
}

type Token = Parameters<Tokenizer['onToken']>[0]
type Found = Parameters<TokenParser['onValue']>[0]

class EntryParser {
  /** The objects that were read and not taken yet. */
  readonly ready: Entry[] = []
  /** The position of the latest token, in bytes. */
  offset = -1
  private bytes = 0
  private readonly tokenizer = new Tokenizer({ stringBufferSize: bufferBytes, numberBufferSize: bufferBytes })
  private readonly parser: TokenParser
  private readonly patterns: string[][]
  /** The number of levels above the objects that match. */
  private readonly levels: number
  private readonly rows = new Map<string, number>()
  /** The size in memory, and what it was at the start of each open object and list. */
  private size = 0
  private readonly sizes: number[] = []
  private wasTaken = false

  constructor(patterns: string[]) {
    this.patterns = patterns.map((pattern) => (pattern === '' ? [] : pattern.split('.')))
    const ofObjects = this.patterns.filter((pattern) => (pattern.at(-1) ?? '*') === '*')
    this.levels = Math.min(...ofObjects.map((pattern) => pattern.length))
    const paths = this.patterns.map((pattern) => ['$', ...pattern].join('.'))
    this.parser = new TokenParser({ paths, keepStack: false, separator: '' })
    this.parser.onValue = (found) => this.take(found)
    this.tokenizer.onToken = (token) => this.add(token)
  }

  write(piece: Buffer): void {
    this.tokenizer.write(piece)
    this.bytes += piece.length
    if (this.bytes - this.offset > maxTextBytes)
      throw new ImportError(`A value is longer than ${maxTextBytes.toLocaleString('en')} bytes`)
  }

  /** @throws ImportError if the file is empty or ends too early */
  end(place: string): void {
    try {
      this.tokenizer.end()
      this.parser.end()
    } catch {
      throw new ImportError('The file ends in the middle of a value: it may be cut off', place)
    }
    if (this.offset < 0) throw new ImportError('The file is empty')
  }

  private add(token: Token): void {
    const { sizes } = this
    const { token: type, value, offset } = token
    this.offset = offset
    if (type === TokenType.LEFT_BRACE || type === TokenType.LEFT_BRACKET) {
      if (sizes.length === maxDepth)
        throw new ImportError(`The file is nested deeper than ${maxDepth} levels`)
      sizes.push(this.size)
    }
    this.size += tokenSize + (typeof value === 'string' ? value.length : 0)
    if (this.size > maxSize)
      throw new ImportError(`An object is larger than ${maxSize.toLocaleString('en')} characters`)
    if (value === Infinity || value === -Infinity) throw new ImportError('A number is too large')
    this.wasTaken = false
    this.parser.write(token)
    const start = type === TokenType.RIGHT_BRACE || type === TokenType.RIGHT_BRACKET ? sizes.pop()! : 0
    // Of the values that are not taken, the parser keeps only those inside an object that matches.
    if (this.wasTaken || sizes.length <= this.levels) this.size = start
  }

  private take({ value, key, parent, stack }: Found): void {
    const path = stack.length === 0 ? [] : [...stack.slice(1).map((one) => one.key!), key!]
    const pattern = this.patterns.find((one) => matches(one, path))
    const name = pattern?.at(-1) ?? '*'
    const found = typeof value === 'string' && name !== '*' ? { [name]: value } : value
    if (!pattern || !isObject(found as Json | undefined)) return
    const part = pattern.join('.')
    const row = (this.rows.get(part) ?? 0) + 1
    this.rows.set(part, row)
    this.ready.push(new Entry(part, path.join('.'), found as Entry['value'], row))
    this.wasTaken = true
    if (Array.isArray(parent)) parent.length = 0
    else if (parent) delete parent[key!]
  }
}

const matches = (pattern: string[], path: (string | number)[]): boolean =>
  pattern.length === path.length &&
  path.every((key, at) => (pattern[at] === '*' ? /^\d+$/.test(String(key)) : pattern[at] === key))
