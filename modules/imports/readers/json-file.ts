import { Tokenizer, TokenParser, TokenParserError, TokenType } from '@streamparser/json'
import { ImportError } from '../items.ts'
import { linesIn, type Open, readText } from './csv/text.ts'

/** The maximum number of levels of objects and lists. */
const maxDepth = 64
/** The longest text, also one that is not imported, such as the bytes of an attachment. */
const maxTextBytes = 16 * 1024 * 1024
/** The largest part of a file that is read at once, such as a card. */
const maxEntryCharacters = 4_000_000
const bufferBytes = 64 * 1024

type Path = (string | number)[]
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/**
 * An object of the file, such as a card. Methods take the path of a value, such as `data.card.id`, or several paths
 * with `|` between them: the first path with a value counts. Null and blank texts are no values. A value of another
 * type than expected ends the import.
 */
export class Entry {
  constructor(
    /** The pattern that selected the object. */
    readonly part: string,
    readonly path: Path,
    readonly value: Record<string, Json>,
    /** The number of the object among those of its pattern, from 1. Objects inside it have the same number. */
    readonly row: number,
    /** The approximate size of the object in memory. */
    readonly characters = 0,
  ) {}

  get(paths: string): Json | undefined {
    for (const keys of keysOf(paths)) {
      let value: Json | undefined = this.value
      for (const key of keys) {
        if (value === undefined) break
        if (typeof value !== 'object') throw this.error(keys.join('.'), 'in an object')
        value = (value as Record<string, Json>)[key] ?? undefined
      }
      if (value !== undefined && !(typeof value === 'string' && value.trim() === '')) return value
    }
    return undefined
  }

  /** True for each value except false and 0. */
  isSet(paths: string): boolean {
    return Boolean(this.get(paths))
  }

  /** Returns a number, such as an id, as a text. */
  text(paths: string): string | undefined {
    const value = this.get(paths)
    return value === undefined ? undefined : this.asText(paths, value)
  }

  /** Returns a text that may be blank, but not missing. */
  required(key: string): string {
    return this.asText(key, this.value[key])
  }

  number(paths: string): number | undefined {
    const value = this.get(paths)
    if (value !== undefined && typeof value !== 'number') throw this.error(paths, 'a number')
    return value
  }

  /** Returns the objects of a list, or of an object whose keys are ids. */
  entries(path: string): Entry[] {
    return this.list(path).map(([key, value]) => this.inside(key, value))
  }

  /** Returns the paths and the values of a list, or of an object whose keys are ids. */
  list(path: string): [path: string, value: Json][] {
    const value = this.get(path) ?? []
    if (typeof value !== 'object') throw this.error(path, 'a list')
    return Object.entries(value).flatMap(([key, one]) => (one === null ? [] : [[`${path}.${key}`, one]]))
  }

  inside(path: string, value: Json): Entry {
    if (!isObject(value)) throw this.error(path, 'an object')
    return new Entry(this.part, [...this.path, path], value, this.row)
  }

  asText(path: string, value: Json | undefined): string {
    if (typeof value === 'number') return String(value)
    if (typeof value !== 'string') throw this.error(path, 'a text')
    return value
  }

  private error(key: string, expected: string): ImportError {
    return wrong([...this.path, key], `must be ${expected}`)
  }
}

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

/** The keys of each path. The map is small, because paths are constants of the code. */
const keysIn = new Map<string, string[][]>()

function keysOf(paths: string): string[][] {
  const keys = keysIn.get(paths) ?? paths.split('|').map((path) => path.split('.'))
  keysIn.set(paths, keys)
  return keys
}

/**
 * Reads the objects that match a pattern, in the order of the file: one JSON document, or several one after the other.
 * @param patterns such as `cards.*`: keys, and `*` for any key or entry of a list. A pattern that ends with a key also
 * matches a text, which is returned as an object with this key
 * @param omit keys whose values are null in the objects, at any depth
 * @param lists gets each pattern for which the file has a list, also an empty list
 * @throws ImportError if the file is broken, or larger than a limit
 */
export async function* readEntries(
  open: Open,
  patterns: string[],
  omit: string[],
  lists = new Set<string>(),
): AsyncGenerator<Entry> {
  const selection = new Selection(patterns, new Set(omit), lists)
  const tokenizer = new Tokenizer({ stringBufferSize: bufferBytes, numberBufferSize: bufferBytes })
  tokenizer.onToken = (token) => selection.add(token)
  let [bytes, line] = [0, 1]
  for await (const text of readText(open)) {
    const piece = Buffer.from(text)
    try {
      tokenizer.write(piece)
      if (bytes + piece.length - selection.last.offset > maxTextBytes)
        throw new ImportError(`A value is longer than ${maxTextBytes.toLocaleString('en')} bytes`)
    } catch (error) {
      const { message, at = selection.last.offset } = problemOf(error as Error, selection.last)
      const before = piece.subarray(0, Math.max(at - bytes, 0)).toString()
      throw new ImportError(message, `line ${line + linesIn(before)}`)
    }
    yield* selection.ready.splice(0)
    bytes += piece.length
    line += linesIn(text)
  }
  selection.end(tokenizer, `line ${line}`)
}

/** @throws the error itself if it is not about the file */
function problemOf(error: Error, last: Token): { message: string; at?: number } {
  if (error instanceof ImportError) return error
  const invalid = (text: unknown) => `The file is not valid JSON: unexpected ${JSON.stringify(text)}`
  if (error instanceof TokenParserError) return { message: invalid(last.value) }
  // The tokenizer has no other way to return the position of an unexpected character.
  const [, character, at] =
    /^Unexpected "([\s\S]*?)" at .*\(absolute position "(\d+)"\)/.exec(error.message) ?? []
  if (at === undefined) throw error
  return { message: invalid(character), at: Number(at) }
}

type Token = Parameters<Tokenizer['onToken']>[0]
type Found = Parameters<TokenParser['onValue']>[0]
const { COLON, COMMA, LEFT_BRACE, LEFT_BRACKET, RIGHT_BRACE, RIGHT_BRACKET, SEPARATOR } = TokenType

/** A wanted object that is not complete yet. */
interface Part {
  pattern: string
  characters: number
}

/** An object or a list that is not closed yet. */
interface Level {
  /** The key or position of the current value. */
  key: string | number
  /** The patterns that the level is on; none within a wanted object. */
  patterns: string[][]
  /** The wanted object that the level is, or is in. */
  part?: Part | undefined
  /** The level is, or is in, an omitted value of a wanted object. */
  isOmitted: boolean
}

/** Selects the wanted objects. The parser builds all values, and each value outside of these objects is removed at once. */
class Selection {
  /** Before the first token, a token that no file has. */
  last: Token = { token: SEPARATOR, value: '', offset: 0 }
  /** The objects that were completed and not taken yet. */
  readonly ready: Entry[] = []
  private readonly parser = new TokenParser({ separator: '' })
  private readonly patterns: string[][]
  private readonly levels: Level[] = []
  private readonly rows = new Map<string, number>()

  constructor(
    patterns: string[],
    private readonly omitted: ReadonlySet<unknown>,
    private readonly lists: Set<string>,
  ) {
    this.patterns = patterns.map((pattern) => (pattern === '' ? [] : pattern.split('.')))
    this.parser.onValue = (found) => this.addValue(found)
  }

  /** @throws ImportError if the file is empty or ends too early */
  end(tokenizer: Tokenizer, place: string): void {
    try {
      tokenizer.end()
      this.parser.end()
    } catch (error) {
      if (error instanceof ImportError) throw error
      throw new ImportError('The file ends in the middle of a value: it may be cut off', place)
    }
    if (this.last.token === SEPARATOR) throw new ImportError('The file is empty')
  }

  add(token: Token): void {
    const { levels, last } = this
    this.last = token
    this.parser.write(token)
    const top = levels.at(-1)
    const { token: type } = token
    if (type === COLON) top!.key = last.value as string
    if (type === COMMA && typeof top!.key === 'number') top!.key++
    if (type === RIGHT_BRACE || type === RIGHT_BRACKET) levels.pop()
    if (type === LEFT_BRACE || type === LEFT_BRACKET) this.open(type === LEFT_BRACE)
  }

  private open(isObject: boolean): void {
    const depth = this.levels.length
    if (depth === maxDepth) throw new ImportError(`The file is nested deeper than ${maxDepth} levels`)
    const top = this.levels.at(-1)
    const isOmitted = top?.part !== undefined && (top.isOmitted || this.omitted.has(top.key))
    const patterns = this.patternsAt(depth)
    const whole = isObject && patterns.find((pattern) => pattern.length === depth)
    const part = top?.part ?? (whole ? { pattern: whole.join('.'), characters: 0 } : undefined)
    this.levels.push({ key: isObject ? '' : 0, patterns: part ? [] : patterns, part, isOmitted })
  }

  /** Returns the patterns that the current value of a level is on. A key takes precedence over `*`. */
  private patternsAt(depth: number): string[][] {
    if (depth === 0) return this.patterns
    const { key, patterns } = this.levels[depth - 1]!
    if (patterns.length === 0) return patterns
    const on = (name: string) => patterns.filter((pattern) => pattern[depth - 1] === name)
    const named = on(String(key))
    return named.length > 0 ? named : on('*')
  }

  private addValue(found: Found): void {
    const { value, key, parent, stack } = found
    const [outer, own] = [this.levels[stack.length - 1], this.levels[stack.length]]
    if (outer?.part) {
      if (!outer.isOmitted && !this.omitted.has(key)) return count(outer.part, found)
    } else if (own?.part) this.complete(own.part, value as Entry['value'], pathOf(found))
    else {
      const patterns = this.patternsAt(stack.length)
      if (patterns.length > 0 && value !== null) this.check(value as Json, patterns, pathOf(found))
    }
    if (Array.isArray(parent)) parent.pop()
    else if (parent) delete parent[key!]
  }

  private complete({ pattern, characters }: Part, value: Entry['value'], path: Path): void {
    const row = (this.rows.get(pattern) ?? 0) + 1
    this.rows.set(pattern, row)
    this.ready.push(new Entry(pattern, path, value, row, characters))
  }

  /** Checks a value other than a wanted object. */
  private check(value: Json, patterns: string[][], path: Path): void {
    const depth = path.length
    const whole = patterns.find((pattern) => pattern.length === depth)
    const hasParts = typeof value === 'object' && patterns.some((pattern) => pattern.length > depth)
    // For example, the pattern `*` matches the entries of a list at the top of the file. If the file is an object
    // instead, its values other than objects are ignored.
    const isWanted = typeof path.at(-1) === 'number' || (depth > 1 && whole?.at(-1) === '*')
    if (whole && isWanted && !hasParts) throw wrong(path, 'must be an object')
    if (typeof value !== 'object' && depth === 0)
      throw new ImportError('The file must contain a JSON object or list')
    const list = patterns.find((pattern) => pattern[depth] === '*')
    if (list && !hasParts) throw wrong(path, 'must be a list')
    if (list) this.lists.add(list.slice(0, depth + 1).join('.'))
    const name = whole?.at(-1) ?? '*'
    if (typeof value === 'string' && name !== '*')
      this.ready.push(new Entry(whole!.join('.'), path, { [name]: value }, 1))
  }
}

/** Counts a value inside a wanted object. */
function count(part: Part, found: Found): void {
  const { value, key } = found
  part.characters += 10 + String(key).length + (typeof value === 'string' ? value.length : 0)
  if (part.characters > maxEntryCharacters)
    throw wrong(pathOf(found), `is larger than ${maxEntryCharacters.toLocaleString('en')} characters`)
  if (value === Infinity || value === -Infinity) throw wrong(pathOf(found), 'is too large a number')
}

const pathOf = ({ stack, key }: Found): Path =>
  stack.length === 0 ? [] : [...stack.slice(1).map((one) => one.key!), key!]

function wrong(path: Path, problem: string): ImportError {
  const keys = path.map((key) => String(key).slice(0, 100))
  return new ImportError(`${keys.join('.') || 'A value'} ${problem}`)
}
