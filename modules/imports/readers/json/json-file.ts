import { Tokenizer, TokenParser, TokenParserError, TokenType } from '@streamparser/json'
import { ImportError } from '../../items.ts'
import { linesIn, type Open, readText } from '../csv/text.ts'
import { Entry, type Json } from './entry.ts'

/** The maximum number of levels of objects and lists. */
const maxDepth = 64
/** The longest text, also one that is not imported, such as the bytes of an attachment. */
const maxTextBytes = 16 * 1024 * 1024
/** The largest part of a file that is read at once, such as a card. */
const maxEntryCharacters = 4_000_000
/** The maximum number of lists, labels, members or custom fields. */
export const maxNames = 20_000
/** The maximum number of rows of a list that belongs to cards, such as the list of all cards' labels. */
export const maxLinks = 200_000
/** The maximum number of characters of the parts that are in memory while the cards are read. */
export const maxKeptCharacters = 32_000_000

/**
 * Reads the objects that match a pattern, in the order of the file: one JSON document, or several one after the other.
 * @param patterns such as `cards.*`: keys, and `*` for any key or entry of a list. A pattern that ends with a key also
 * matches a text, which is returned as an object with this key
 * @param omit keys whose values are null in the objects, at any depth
 * @param onList called with the path of each list on a pattern, such as `cards`
 * @throws ImportError if the file is broken, or larger than a limit
 */
export async function* readEntries(
  open: Open,
  patterns: string[],
  omit: string[] = [],
  onList: (path: string) => void = () => {},
): AsyncGenerator<Entry> {
  const selection = new Selection(patterns, new Set(omit), onList)
  const bufferBytes = 64 * 1024
  const tokenizer = new Tokenizer({ stringBufferSize: bufferBytes, numberBufferSize: bufferBytes })
  tokenizer.onToken = (token) => selection.add(token)
  const encoder = new TextEncoder()
  let [bytes, line] = [0, 1]
  for await (const text of readText(open)) {
    const piece = encoder.encode(text)
    try {
      tokenizer.write(piece)
      if (bytes + piece.length - (selection.last?.offset ?? 0) > maxTextBytes)
        throw new ImportError(`A value is longer than ${maxTextBytes.toLocaleString('en')} bytes`)
    } catch (error) {
      const { message, at = (selection.last?.offset ?? 0) - bytes } = problemOf(error as Error, selection)
      const before = new TextDecoder().decode(piece.subarray(0, Math.max(at, 0)))
      throw new ImportError(message, `line ${line + linesIn(before)}`)
    }
    yield* selection.ready.splice(0)
    bytes += piece.length
    line += linesIn(text)
  }
  selection.end(tokenizer, `line ${line}`)
}

/** @throws the error itself if it is not about the file */
function problemOf(error: Error, { last }: Selection): { message: string; at?: number } {
  if (error instanceof ImportError) return error
  const invalid = (text: unknown) => `The file is not valid JSON: unexpected ${JSON.stringify(text)}`
  if (error instanceof TokenParserError) return { message: invalid(last?.value) }
  // The tokenizer has no other way to return the position of an unexpected character.
  const [, character, at] = /^Unexpected "([\s\S]*?)" at chunk position "(\d+)"/.exec(error.message) ?? []
  if (at === undefined) throw error
  return { message: invalid(character), at: Number(at) }
}

type Token = Parameters<Tokenizer['onToken']>[0]
const { COLON, COMMA, LEFT_BRACE, LEFT_BRACKET, NULL, RIGHT_BRACE, RIGHT_BRACKET, STRING } = TokenType

/** An object or a list that is not closed yet: the key or position of its current value, and the patterns it is on. */
interface Level {
  key: string | number
  patterns: string[][]
}

/**
 * Selects the wanted objects from the tokens of a file. One parser builds the wanted object; another one only checks the
 * order of the other tokens. Omitted values and wanted objects reach the outer parser as null.
 */
class Selection {
  last: Token | undefined
  /** The objects that were completed and not taken yet. */
  readonly ready: Entry[] = []
  private readonly outer = new TokenParser({ paths: ['$.none'], keepStack: false, separator: '' })
  private readonly patterns: string[][]
  private readonly levels: Level[] = []
  private readonly rows = new Map<string, number>()
  /** The wanted object that is not complete yet. */
  private part: { pattern: string; depth: number; parser: TokenParser; characters: number } | undefined
  /** The open objects and lists within a value that is not read. */
  private skipped = 0

  constructor(
    patterns: string[],
    private readonly omitted: ReadonlySet<string | number>,
    private readonly onList: (path: string) => void,
  ) {
    this.patterns = patterns.map((pattern) => (pattern === '' ? [] : pattern.split('.')))
  }

  /** @throws ImportError if the file is empty or ends too early */
  end(tokenizer: Tokenizer, place: string): void {
    let isCut = this.levels.length > 0
    try {
      tokenizer.end()
    } catch (error) {
      if (error instanceof ImportError) throw error
      isCut = true
    }
    if (isCut) throw new ImportError('The file ends in the middle of a value: it may be cut off', place)
    if (!this.last) throw new ImportError('The file is empty')
  }

  add(token: Token): void {
    const [before, top] = [this.last, this.levels.at(-1)]
    this.last = token
    const { token: type } = token
    const isOpening = type === LEFT_BRACE || type === LEFT_BRACKET
    const isClosing = type === RIGHT_BRACE || type === RIGHT_BRACKET
    if (isOpening && this.levels.length + this.skipped === maxDepth)
      throw new ImportError(`The file is nested deeper than ${maxDepth} levels`)
    if (this.skipped > 0) {
      this.skipped += isOpening ? 1 : isClosing ? -1 : 0
      return this.skipped === 0 ? this.forwardNull() : undefined
    }
    if (isClosing) return this.close(token)
    if (type === COLON && top) top.key = before!.value as string
    if (type === COMMA && typeof top?.key === 'number') top.key++
    const isKey = typeof top?.key === 'string' && before!.token !== COLON
    if (type === COLON || type === COMMA || isKey) return this.forward(token)
    const isOmitted = before?.token === COLON && this.omitted.has(top!.key)
    const patterns = this.part || isOmitted ? [] : this.select(token, top)
    const isRead = !isOmitted && (this.part !== undefined || patterns.length > 0)
    if (isRead && isOpening) this.levels.push({ key: type === LEFT_BRACE ? '' : 0, patterns })
    if (isRead) this.forward(token)
    else if (isOpening) this.skipped = 1
    else this.forwardNull()
  }

  /** Begins a part at a wanted object. Returns the patterns that may match inside the value. */
  private select({ token: type, value }: Token, top: Level | undefined): string[][] {
    const depth = this.levels.length
    const on = (key: string) => top!.patterns.filter((pattern) => pattern[depth - 1] === key)
    const named = top ? on(String(top.key)) : this.patterns
    const patterns = named.length > 0 || !top ? named : on('*')
    if (patterns.length === 0 || type === NULL) return []
    const whole = patterns.find((pattern) => pattern.length === depth)
    if (type === LEFT_BRACE && whole) {
      const parser = new TokenParser({ paths: ['$'] })
      this.part = { pattern: whole.join('.'), depth, parser, characters: 0 }
      parser.onValue = ({ value: built }) => this.complete(built as Record<string, Json>)
      return []
    }
    const longer = patterns.filter((pattern) => pattern.length > depth)
    const isOpening = type === LEFT_BRACE || type === LEFT_BRACKET
    // For example, the pattern `*` matches the entries of a list at the top of the file. If the file is an object
    // instead, its values other than objects are ignored.
    const isWanted = typeof top?.key === 'number' || (depth > 1 && whole?.at(-1) === '*')
    if (whole && isWanted && !(isOpening && longer.length > 0)) throw this.wrong('must be an object')
    if (!isOpening && !top) throw new ImportError('The file must contain a JSON object or list')
    const isList = longer.some((pattern) => pattern[depth] === '*')
    if (isList && !isOpening) throw this.wrong('must be a list')
    if (isList) this.onList(this.path().join('.'))
    if (type === STRING && whole && whole.at(-1) !== '*')
      this.ready.push(new Entry(whole.join('.'), this.path(), { [whole.at(-1)!]: value as string }, 1))
    return longer
  }

  private close(token: Token): void {
    this.levels.pop()
    this.forward(token)
    if (this.part?.depth !== this.levels.length) return
    this.part = undefined
    this.forwardNull()
  }

  private forwardNull = () => this.forward({ token: NULL, value: null, offset: this.last!.offset })

  private forward(token: Token): void {
    const { part } = this
    if (part) {
      part.characters += typeof token.value === 'string' ? token.value.length + 10 : 10
      if (part.characters > maxEntryCharacters)
        throw this.wrong(`is larger than ${maxEntryCharacters.toLocaleString('en')} characters`)
      if (token.value === Infinity || token.value === -Infinity) throw this.wrong('is too large a number')
    }
    ;(part?.parser ?? this.outer).write(token)
  }

  private complete(value: Record<string, Json>): void {
    const { pattern, characters } = this.part!
    const row = (this.rows.get(pattern) ?? 0) + 1
    this.rows.set(pattern, row)
    this.ready.push(new Entry(pattern, this.path(), value, row, characters))
  }

  private path = (): (string | number)[] => this.levels.map(({ key }) => key)

  private wrong(problem: string): ImportError {
    const path = this.path().map((key) => String(key).slice(0, 100))
    return new ImportError(`${path.join('.') || 'A value'} ${problem}`)
  }
}
