import { type Tokenizer, TokenType } from '@streamparser/json'
import { Entry, type Json } from './entry.ts'
import { type Frame, frameOf, needsList, put, textPartOf } from './frame.ts'
import { JsonError } from './json-error.ts'
import { may, namesOf } from './grammar.ts'
import { maxDepth, maxEntryCharacters, maxSkippedBytes, maxValueBytes } from './limits.ts'
import { type Selection, selectionOf, selectKey } from './selection.ts'

type Token = Parameters<Tokenizer['onToken']>[0]
const { value, key, colon, comma, end } = may
const { COLON, COMMA, LEFT_BRACE, LEFT_BRACKET, RIGHT_BRACE, RIGHT_BRACKET, STRING } = TokenType

/**
 * Builds the wanted parts of a JSON document from its tokens, and skips the rest. The TokenParser of the library also
 * checks the order of tokens, but it builds the omitted keys of a part too, and has no limits of depth and size.
 */
export class Builder {
  private readonly selection: Selection
  private readonly frames: Frame[] = []
  private top: Frame | undefined
  private next: number = value
  private characters = 0
  private ready: Entry[] = []
  private readonly rows = new Map<string, number>()
  private last: Token | undefined
  private bytesAtToken = 0
  private tokenAtCheck: Token | undefined
  /** The top-level keys of the document that begin a wanted part. */
  readonly foundKeys = new Set<string>()

  /**
   * @param parts see `selectionOf`
   * @param omitted keys that are left out of wanted parts, at any depth
   * @param documents `many` accepts several documents, one after the other
   * @param lists `arrays or objects` accepts an object, whose keys are ids, in place of a list
   */
  constructor(
    parts: string[],
    private readonly omitted: ReadonlySet<string>,
    private readonly documents: 'one' | 'many' = 'one',
    private readonly lists: 'arrays' | 'arrays or objects' = 'arrays',
  ) {
    this.selection = selectionOf(parts)
  }

  /** Returns the parts that were completed since the last call. */
  take(): Entry[] {
    const { ready } = this
    this.ready = []
    return ready
  }

  /** True between documents, and at the end. */
  isComplete(): boolean {
    return !this.top
  }

  add(token: Token): void {
    this.last = token
    switch (token.token) {
      case COLON:
        if (this.next !== colon) this.fail()
        this.next = value
        return
      case COMMA:
        return this.endValue()
      case LEFT_BRACE:
        return this.begin(false)
      case LEFT_BRACKET:
        return this.begin(true)
      case RIGHT_BRACE:
        return this.end(false)
      case RIGHT_BRACKET:
        return this.end(true)
      case STRING:
        if (this.next & key) return this.setKey(token.value as string)
    }
    this.addScalar(token.value as Json)
  }

  /** The offset of the last token in bytes. */
  get offset(): number {
    return this.last?.offset ?? 0
  }

  get isEmpty(): boolean {
    return !this.last
  }

  /** Limits a value that is not complete yet. Called after each piece. @param bytes of the file so far */
  checkLength(bytes: number): void {
    if (this.last !== this.tokenAtCheck) this.bytesAtToken = bytes
    this.tokenAtCheck = this.last
    const { top } = this
    const isSkipped = top && this.next & value && !top.isKept
    const max = isSkipped ? maxSkippedBytes : maxValueBytes
    if (bytes - this.bytesAtToken > max) throw this.error(`is longer than ${max.toLocaleString('en')} bytes`)
  }

  private endValue(): void {
    if (!(this.next & comma)) this.fail()
    const top = this.top!
    this.next = top.isList ? value : key
    if (top.isList) (top.key as number) += 1
  }

  private setKey(name: string): void {
    const top = this.top!
    this.next = colon
    top.key = name
    if (!top.content) return
    top.isKept = !this.omitted.has(name)
    this.count(name)
  }

  private addScalar(scalar: Json): void {
    const { top } = this
    if (!top) {
      const expected = this.selection.others ? 'object or list' : 'object'
      throw new JsonError(`The file must contain a JSON ${expected}`, this.offset)
    }
    if (!(this.next & value)) this.fail()
    this.next = comma | end
    if (top.isKept) {
      if (typeof scalar === 'number' && !Number.isFinite(scalar)) throw this.error('is too large a number')
      this.count(scalar)
      put(top, scalar)
    } else if (top.isList && top.selection?.others?.part !== undefined && scalar !== null)
      throw this.error('must be an object')
    else if (scalar !== null && needsList(top)) throw this.error('must be a list')
    else if (typeof scalar === 'string') this.addText(scalar, textPartOf(top))
  }

  private addText(text: string, part: string | undefined): void {
    if (part === undefined) return
    const path = this.frames.map((frame) => frame.key)
    this.ready.push(new Entry(part, path, { [path.at(-1)!]: text }, 1, text.length))
  }

  private begin(isList: boolean): void {
    if (!(this.next & value)) this.fail()
    if (this.frames.length === maxDepth)
      throw new JsonError(`The file is nested deeper than ${maxDepth} levels`, this.offset)
    const parent = this.top
    const frame = frameOf(isList)
    if (parent?.isKept) {
      this.count('')
      frame.content = isList ? [] : {}
      put(parent, frame.content)
    } else if (!parent) frame.selection = this.selection
    else if (!isList && this.lists === 'arrays' && needsList(parent)) throw this.error('must be a list')
    else if (parent.selection) frame.selection = this.select(parent.selection, parent.key)
    const part = frame.selection?.part
    if (part !== undefined && !isList) {
      frame.part = part
      frame.content = {}
      frame.selection = undefined
      this.characters = 0
    } else if (part !== undefined && parent?.isList && !frame.selection?.others)
      throw this.error('must be an object')
    frame.isKept = frame.content !== undefined
    this.frames.push(frame)
    this.top = frame
    this.next = end | (isList ? value : key)
  }

  private select(from: Selection, name: string | number): Selection | undefined {
    if (this.frames.length === 1 && typeof name === 'string' && from.keys.has(name)) this.foundKeys.add(name)
    return selectKey(from, name)
  }

  private end(isList: boolean): void {
    const frame = this.top
    if (!frame || frame.isList !== isList || !(this.next & end)) this.fail()
    this.frames.pop()
    this.top = this.frames[this.frames.length - 1]
    this.next = this.top ? comma | end : this.documents === 'many' ? value : 0
    if (frame.part === undefined) return
    const path = this.frames.map((outer) => outer.key)
    const row = (this.rows.get(frame.part) ?? 0) + 1
    this.rows.set(frame.part, row)
    this.ready.push(new Entry(frame.part, path, frame.content as Record<string, Json>, row, this.characters))
  }

  /** Limits the memory of a wanted part. */
  private count(kept: Json): void {
    this.characters += typeof kept === 'string' ? kept.length + 20 : 20
    if (this.characters > maxEntryCharacters)
      throw this.error(`is larger than ${maxEntryCharacters.toLocaleString('en')} characters`)
  }

  private error(message: string): JsonError {
    const path = this.frames.map((frame) => String(frame.key).slice(0, 100)).join('.')
    return new JsonError(`${path || 'A value'} ${message}`, this.offset)
  }

  private fail(): never {
    throw new JsonError(`The file is not valid JSON: expected ${namesOf(this.next)}`, this.offset)
  }
}
