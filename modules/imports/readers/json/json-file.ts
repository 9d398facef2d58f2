import { Tokenizer, TokenParser, TokenParserError, TokenType } from '@streamparser/json'
import { ImportError } from '../../items.ts'
import { lineAt, type Open, readUtf8 } from '../csv/text.ts'
import { Entry, type Json } from './entry.ts'

/** The most levels of objects and lists. */
const maxDepth = 64
/** The longest text. */
const maxValueBytes = 1_000_000
/** The longest text that is not imported, such as the bytes of an attachment. */
const maxSkippedBytes = 16 * 1024 * 1024
/** The largest part of a file that is read at once, such as a card. */
const maxEntryCharacters = 4_000_000
/** The most lists, labels, members or custom fields. */
export const maxNames = 20_000
/** The most rows of a list that belongs to cards, such as the list of all cards' labels. */
export const maxLinks = 200_000
/** The most characters of the parts that are in memory while the cards are read. */
export const maxKeptCharacters = 32_000_000

export interface JsonOptions {
  /** Keys that are left out of the parts, at any depth. */
  omit?: string[]
  /** `many`: several JSON documents one after the other, such as one for each line. */
  documents?: 'one' | 'many'
  /** `arrays or objects`: an object, whose keys are ids, may replace a list. */
  lists?: 'arrays' | 'arrays or objects'
}

/** A JSON file of any size, whose parts are read one by one. */
export class JsonFile {
  /** The paths, of one or two keys, of the lists that contain parts of any reading so far, such as `cards`. */
  readonly lists = new Set<string>()

  constructor(private readonly open: Open) {}

  /**
   * Returns the objects that match a pattern, in the order of the file.
   * @param parts such as `cards.*`: keys, and `*` for any key or entry of a list. A pattern that ends with a key, such
   * as `desc`, also matches a text, which is returned as an object with this key
   * @throws ImportError if the file is broken, or larger than a limit
   */
  async *read(parts: string[], options: JsonOptions = {}): AsyncGenerator<Entry> {
    const reading = new Reading(parts, options, this.lists)
    const tokenizer = new Tokenizer({ stringBufferSize: 64 * 1024 })
    let bytes = 0
    tokenizer.onToken = (token) => reading.add(token)
    for await (const piece of readUtf8(this.open)) {
      bytes += piece.length
      await this.check(reading, () => {
        tokenizer.write(piece)
        reading.checkLength(bytes)
      })
      for (const entry of reading.take()) yield entry
    }
    await this.check(reading, () => reading.end(tokenizer))
  }

  /**
   * Reads the objects that match a pattern into memory, and returns them by their pattern.
   * @param parts the most objects of each pattern
   */
  async index<Part extends string>(
    parts: Record<Part, number>,
    options?: JsonOptions,
  ): Promise<Record<Part, Entry[]>> {
    const names = Object.keys(parts) as Part[]
    const index = Object.fromEntries(names.map((part) => [part, []])) as unknown as Record<Part, Entry[]>
    let characters = 0
    for await (const entry of this.read(names, options)) {
      const [part, path] = [entry.part as Part, entry.path.slice(0, -1).join('.')]
      index[part].push(entry)
      characters += entry.characters
      if (index[part].length > parts[part])
        throw new ImportError(`The file has more than ${parts[part].toLocaleString('en')} ${path}`)
      if (characters > maxKeptCharacters)
        throw new ImportError(
          `The lists, labels and links of the cards, up to ${path}, have more than ${maxKeptCharacters.toLocaleString('en')} characters`,
        )
    }
    return index
  }

  /** Turns the errors of the parser into an ImportError with the line. */
  private async check(reading: Reading, parse: () => void): Promise<void> {
    try {
      parse()
    } catch (error) {
      const broken = reading.errorOf(error as Error)
      if (!broken) throw error
      throw new ImportError(broken.message, `line ${await lineAt(this.open, broken.offset)}`)
    }
  }
}

type Token = Parameters<Tokenizer['onToken']>[0]
const { COLON, COMMA, LEFT_BRACE, LEFT_BRACKET, NULL, RIGHT_BRACE, RIGHT_BRACKET, STRING } = TokenType

/** The file is broken at this byte. */
class JsonError extends Error {
  constructor(
    message: string,
    readonly offset: number,
  ) {
    super(message)
  }
}

/** A node in the tree of the patterns. */
interface Pattern {
  keys: Map<string, Pattern>
  /** For all other keys, and for the entries of lists. */
  others?: Pattern
  /** The pattern of the objects that match here. */
  part?: string
}

function patternOf(parts: string[]): Pattern {
  const root: Pattern = { keys: new Map() }
  for (const part of parts) {
    let at = root
    for (const key of part === '' ? [] : part.split('.')) {
      const next = (key === '*' ? at.others : at.keys.get(key)) ?? { keys: new Map() }
      if (key === '*') at.others = next
      else at.keys.set(key, next)
      at = next
    }
    at.part = part
  }
  return root
}

/** An object or a list that is not closed yet: the key or position of its current value, and what matches inside. */
interface Level {
  key: string | number
  pattern: Pattern | undefined
}

/** A wanted object that is not complete yet. */
interface Part {
  name: string
  depth: number
  parser: TokenParser
  value: Record<string, Json>
  characters: number
}

/**
 * Selects the wanted objects of a JSON document from its tokens. A parser for each wanted object builds its value; one
 * parser for the rest only checks the order of tokens. Omitted values and wanted objects reach the outer parser as null.
 */
class Reading {
  private readonly root: Pattern
  private readonly omitted: ReadonlySet<string>
  private readonly rest: TokenParser
  private readonly levels: Level[] = []
  private readonly rows = new Map<string, number>()
  private ready: Entry[] = []
  private part: Part | undefined
  private omittedAt: number | undefined
  private isKeyNext = false
  private last: Token | undefined
  private bytesAtToken = 0
  private tokenAtCheck: Token | undefined

  constructor(
    parts: string[],
    private readonly options: JsonOptions,
    private readonly lists: Set<string>,
  ) {
    this.root = patternOf(parts)
    this.omitted = new Set(options.omit)
    const isMany = options.documents === 'many'
    this.rest = new TokenParser({ paths: ['$.none'], keepStack: false, ...(isMany && { separator: '' }) })
  }

  /** Returns the objects that were completed since the last call. */
  take(): Entry[] {
    const { ready } = this
    this.ready = []
    return ready
  }

  add(token: Token): void {
    this.last = token
    const top = this.levels[this.levels.length - 1]
    switch (token.token) {
      case COLON:
        return this.forward(token)
      case COMMA:
        if (typeof top?.key === 'number') top.key++
        else this.isKeyNext = true
        return this.forward(token)
      case RIGHT_BRACE:
      case RIGHT_BRACKET:
        this.levels.pop()
        this.isKeyNext = false
        return this.endValue(token)
      case LEFT_BRACE:
      case LEFT_BRACKET: {
        if (this.levels.length === maxDepth)
          throw this.error(`The file is nested deeper than ${maxDepth} levels`)
        const pattern = this.beginValue(token, top)
        this.isKeyNext = token.token === LEFT_BRACE
        this.levels.push({ key: this.isKeyNext ? '' : 0, pattern })
        return this.forward(token)
      }
    }
    if (top && this.isKeyNext && token.token === STRING) {
      top.key = token.value as string
      this.isKeyNext = false
      return this.forward(token)
    }
    this.beginValue(token, top)
    this.endValue(token)
  }

  private forward(token: Token): void {
    if (this.omittedAt !== undefined) return
    const { part } = this
    if (part) {
      part.characters += typeof token.value === 'string' ? token.value.length + 10 : 10
      if (part.characters > maxEntryCharacters)
        throw this.wrong(`is larger than ${maxEntryCharacters.toLocaleString('en')} characters`)
      if (token.value === Infinity || token.value === -Infinity) throw this.wrong('is too large a number')
    }
    ;(part?.parser ?? this.rest).write(token)
  }

  /** Returns what matches inside the value. */
  private beginValue(token: Token, top: Level | undefined): Pattern | undefined {
    const { token: type } = token
    if (this.part) {
      if (this.omittedAt === undefined && typeof top?.key === 'string' && this.omitted.has(top.key))
        this.omittedAt = this.levels.length
      return undefined
    }
    if (!top && type !== LEFT_BRACE && type !== LEFT_BRACKET)
      throw this.error(`The file must contain a JSON object${this.root.others ? ' or list' : ''}`)
    const { pattern: outer = this.root } = top ?? {}
    const isNamed = typeof top?.key === 'string'
    const pattern = top?.pattern
      ? ((isNamed ? outer.keys.get(top.key as string) : undefined) ?? outer.others)
      : top
        ? undefined
        : this.root
    // Nothing inside is wanted.
    if (!pattern) this.omittedAt ??= this.levels.length
    if (!pattern) return undefined
    if (isNamed && pattern.others) this.expectList(type)
    if (pattern.part === undefined) return pattern
    if (type === LEFT_BRACE) this.beginPart(pattern.part)
    else if (isNamed && type === STRING && !pattern.others) this.addText(pattern.part, token.value as string)
    else if (top && !isNamed && type !== NULL && !(type === LEFT_BRACKET && pattern.others))
      throw this.wrong('must be an object')
    return type === LEFT_BRACE ? undefined : pattern
  }

  private expectList(type: TokenType): void {
    if (this.levels.length <= 2) this.lists.add(this.path().join('.'))
    const isList =
      type === LEFT_BRACKET || (type === LEFT_BRACE && this.options.lists === 'arrays or objects')
    if (!isList && type !== NULL) throw this.wrong('must be a list')
  }

  private beginPart(name: string): void {
    const parser = new TokenParser({ paths: ['$'] })
    const part: Part = { name, depth: this.levels.length, parser, value: {}, characters: 0 }
    parser.onValue = ({ value }) => (part.value = value as Record<string, Json>)
    this.part = part
  }

  private endValue(token: Token): void {
    const { part } = this
    const depth = this.levels.length
    const nothing: Token = { token: NULL, value: null, offset: token.offset }
    if (this.omittedAt === depth) {
      this.omittedAt = undefined
      return this.forward(nothing)
    }
    this.forward(token)
    if (part?.depth !== depth) return
    const row = (this.rows.get(part.name) ?? 0) + 1
    this.rows.set(part.name, row)
    this.ready.push(new Entry(part.name, this.path(), part.value, row, part.characters))
    this.part = undefined
    this.forward(nothing)
  }

  private addText(name: string, text: string): void {
    const path = this.path()
    this.ready.push(new Entry(name, path, { [path.at(-1)!]: text }, 1, text.length))
  }

  private path = (): (string | number)[] => this.levels.map(({ key }) => key)

  /** Limits a value that is not complete yet. Called after each piece. @param bytes of the file so far */
  checkLength(bytes: number): void {
    if (this.last !== this.tokenAtCheck) this.bytesAtToken = bytes
    this.tokenAtCheck = this.last
    const isSkipped =
      this.omittedAt !== undefined || this.isBeforeOmitted() || (!this.part && !this.isKeyNext)
    const max = isSkipped && this.levels.length > 0 ? maxSkippedBytes : maxValueBytes
    if (bytes - this.bytesAtToken > max) throw this.wrong(`is longer than ${max.toLocaleString('en')} bytes`)
  }

  private isBeforeOmitted(): boolean {
    const { key } = this.levels.at(-1) ?? {}
    return this.last?.token === COLON && typeof key === 'string' && this.omitted.has(key)
  }

  /** @throws JsonError if the file ends too early */
  end(tokenizer: Tokenizer): void {
    try {
      tokenizer.end()
    } catch (error) {
      throw (
        this.errorOf(error as Error) ??
        this.error('The file ends in the middle of a value: it may be cut off')
      )
    }
    if (!this.last) throw this.error('The file is empty')
    if (this.levels.length > 0)
      throw this.error('The file ends before its last object or list is closed: it may be cut off')
  }

  /** Returns the error with its place; undefined for an unexpected error. */
  errorOf(error: Error): JsonError | undefined {
    if (error instanceof JsonError) return error
    const invalid = (character: unknown) =>
      `The file is not valid JSON: unexpected ${JSON.stringify(character)}`
    if (error instanceof TokenParserError) return this.error(invalid(this.last?.value))
    // The tokenizer has no other way to return the position of an unexpected character.
    const [, character, offset] =
      /^Unexpected "([\s\S]*?)" at chunk position .*absolute position "(\d+)"/.exec(error.message) ?? []
    return offset === undefined ? undefined : new JsonError(invalid(character), Number(offset))
  }

  private wrong = (problem: string) =>
    this.error(
      `${
        this.path()
          .map((key) => String(key).slice(0, 100))
          .join('.') || 'A value'
      } ${problem}`,
    )

  private error = (message: string) => new JsonError(message, this.last?.offset ?? 0)
}
