import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { cursorOf, read, withQuery } from '../requests.ts'
import { type Call, ToolError } from '../tool.ts'

/** The maximum number of characters of an answer. */
export const maxAnswerCharacters = 20_000
/** The characters of `next` and of the names of lists. */
const reservedCharacters = 1_500
/** A longer text is cut, because the other fields of a task must fit too. */
const maxTextCharacters = 6_000
/** The maximum number of pages of a list that one answer reads: the pages of a filtered list may be short or empty. */
const maxPages = 10
const pageRows = 100

/** Counts the characters that are left for the rows of an answer. */
export class Budget {
  private left: number
  private isEmpty = true

  /** @param head the other fields of the answer */
  constructor(head: object = {}) {
    this.left = maxAnswerCharacters - reservedCharacters - JSON.stringify(head).length
  }

  /** Subtracts the characters of the row. Returns false if the row does not fit; the first row always fits. */
  add(row: unknown): boolean {
    const characters = JSON.stringify(row).length + 1
    if (characters > this.left && !this.isEmpty) return false
    this.isEmpty = false
    this.left -= characters
    return true
  }
}

/** Returns the text from `start` on, cut so that it has at most `max` characters as JSON. */
export function partOf(text: string, start: number, max: number): string {
  let part = text.slice(start, start + max)
  for (let length = jsonLength(part); length > max; length = jsonLength(part))
    part = part.slice(0, Math.max(1, Math.floor((part.length * max) / length)))
  // A cut must not separate a surrogate pair.
  return start + part.length < text.length && part.length > 1 ? part.replace(/[\ud800-\udbff]$/, '') : part
}

const jsonLength = (text: string): number => JSON.stringify(text).length - 2

/** Returns the text after `from` characters. If the text is too long for one answer, the next answer starts at `cutAt`. */
export function cut(text: string | null, from = 0): { text: string | null; cutAt?: number } {
  if (text === null) return { text }
  const part = partOf(text, from, maxTextCharacters)
  const end = from + part.length
  return end < text.length ? { text: part, cutAt: end } : { text: part }
}

/** Returns the beginning of a text, with an ellipsis if the text is longer. */
export function shortened(text: string, maxCharacters: number): string {
  const part = partOf(text, 0, maxCharacters)
  return part === text ? text : `${part}…`
}

/** A row as the answer shows it. `cutAt`: the row contains a text only up to this character. */
interface Shown {
  row: object
  cutAt?: number
}

export interface Section<Row = never> {
  name: string
  /** The path of a list of the API, with filters. */
  path: string
  /** Returns undefined for a row that the answer leaves out. */
  show(row: Row, from?: number): Shown | undefined | Promise<Shown>
  /** The maximum number of rows that one answer shows. */
  max?: number
  /** The rest of the list is never shown. */
  isExcerpt?: boolean
  onPage?(headers: Headers): void
}

/** Returns an answer with the fields of `head` and with lists. If a row does not fit, `next` continues with this row. */
export async function withSections(
  call: Call,
  head: (from?: number) => Shown,
  sections: Section[],
  next?: string,
): Promise<Record<string, unknown>> {
  const start = readPosition(next, 1 + sections.length)
  const { row: answer, cutAt } = start.part === 0 ? head(start.from) : { row: {} }
  if (cutAt) return { ...answer, next: writePosition({ part: 0, from: cutAt }) }
  const budget = new Budget(answer)
  const lists: Record<string, object[]> = {}
  for (let part = Math.max(1, start.part); part <= sections.length; part++) {
    const section = sections[part - 1] as Section<{ id: string }>
    const { rows, rest } = await readSection(call, section, budget, part === start.part ? start : {})
    lists[section.name] = rows
    if (rest) return { ...answer, ...lists, next: writePosition({ part, ...rest }) }
  }
  return { ...answer, ...lists }
}

type Place = Omit<Position, 'part'>

/** Returns the rows from `start` on that fit into the answer. `rest` is the place of the first row that does not fit. */
async function readSection(
  call: Call,
  { path, show, max = Infinity, isExcerpt, onPage }: Section<{ id: string }>,
  budget: Budget,
  start: Place,
): Promise<{ rows: object[]; rest?: Place }> {
  const rows: object[] = []
  let { cursor, after, from } = start
  for (let pages = 0; pages < maxPages; pages++) {
    const page = await read<{ id: string }[]>(
      call,
      withQuery(path, { limit: Math.min(max, pageRows), cursor }),
    )
    onPage?.(page.headers)
    // If the row `after` has left the page meanwhile, the page begins again, so that no row is lost.
    for (const one of page.body.slice(1 + page.body.findIndex(({ id }) => id === after))) {
      if (rows.length === max) return { rows, rest: { cursor, after } }
      const shown = await show(one, from)
      if (shown && !budget.add(shown.row)) return { rows, rest: { cursor, after, from } }
      if (shown) rows.push(shown.row)
      if (shown?.cutAt) return { rows, rest: { cursor, after, from: shown.cutAt } }
      after = one.id
      from = undefined
    }
    const link = cursorOf(page)
    if (link === undefined || isExcerpt) return { rows }
    cursor = link
    after = undefined
    if (rows.length === max) break
  }
  return { rows, rest: { cursor } }
}

const Position = Type.Object({
  part: Type.Integer({ minimum: 0 }),
  cursor: Type.Optional(Type.String()),
  after: Type.Optional(Type.String()),
  from: Type.Optional(Type.Integer({ minimum: 0 })),
})
/**
 * The start of the next answer: in a part, on the page after `cursor` in its list, behind the row `after`, at the character
 * `from` in a text of the first row.
 */
type Position = Static<typeof Position>

export const Next = Type.Optional(
  Type.String({ maxLength: 1_000, description: 'A text, `next` of the previous answer to the same call' }),
)

const writePosition = (position: Position): string =>
  Buffer.from(JSON.stringify(position)).toString('base64url')

/** @throws ToolError 400 */
function readPosition(next: string | undefined, parts: number): Position {
  if (next === undefined) return { part: 0 }
  const position = parsed(next)
  if (Value.Check(Position, position) && position.part < parts) return position
  throw new ToolError(
    400,
    'next must be from the previous answer',
    'Call again without next to begin with the first answer',
  )
}

function parsed(next: string): unknown {
  try {
    return JSON.parse(Buffer.from(next, 'base64url').toString())
  } catch {
    return undefined
  }
}
