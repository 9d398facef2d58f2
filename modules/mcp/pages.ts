import { Type } from '@sinclair/typebox'
import { badRequest } from '../../src/responses/errors.ts'
import type { Call } from './tool.ts'

/** The maximum number of characters of an answer. */
const maxAnswerCharacters = 20_000
/** The characters of `next` and of the names of lists. */
const reservedCharacters = 1_500
/** A longer text has several parts, because the other fields of a task must fit too. */
const maxTextCharacters = 6_000
/** The pages of a filtered list may be short or empty, so one answer reads several. */
const usualPages = 10
const pageRows = 100

/**
 * Returns a function that returns true if a further row fits into the answer beside `head`. The first row always fits. After
 * a row that does not fit, no row fits.
 */
export function openFits(head: object = {}): (row: object) => boolean {
  const max = maxAnswerCharacters - reservedCharacters - JSON.stringify(head).length
  let used = 0
  return (row) => {
    const isFirst = used === 0
    used += JSON.stringify(row).length + 1
    return used <= max || isFirst
  }
}

/** Returns the text from `start` on, cut so that it has at most `max` characters as JSON. */
function partOf(text: string, start: number, max: number): string {
  let part = text.slice(start, start + max)
  for (let length = jsonLength(part); length > max; length = jsonLength(part))
    part = part.slice(0, Math.max(1, Math.floor((part.length * max) / length)))
  // A cut must not separate a surrogate pair.
  return start + part.length < text.length && part.length > 1 ? part.replace(/[\ud800-\udbff]$/, '') : part
}

const jsonLength = (text: string): number => JSON.stringify(text).length - 2

/** Returns the beginning of a text, with an ellipsis if the text is longer. */
export function shortened(text: string, maxCharacters = maxTextCharacters): string {
  const part = partOf(text, 0, maxCharacters)
  return part === text ? text : `${part}…`
}

/** Returns the row with the first part of a long text, and for each further part a row with only the id and the part. */
export function inParts(row: Record<string, unknown>, field: string): object[] {
  const { id, [field]: text } = row
  if (typeof text !== 'string' || text === '') return [row]
  const rows: object[] = []
  for (let start = 0; start < text.length;) {
    const part = partOf(text, start, maxTextCharacters)
    rows.push({ ...(start === 0 ? row : { id }), [field]: part })
    start += part.length
  }
  return rows
}

interface Item {
  id: string
}

export interface Section<Row extends Item> {
  name: string
  /** The path of a list of the API, with filters. */
  path: string
  /** Returns the rows that the answer shows for an item of the list. */
  show(item: Row): object[]
  /** The number of items of a page of the list, and the maximum number of pages that one answer reads. */
  limit?: number
  maxPages?: number
  /** The rest of the list is never shown. */
  isExcerpt?: boolean
  onPage?(headers: Headers): void
}

/** Returns an answer with `head`, in parts if a text is long, and with lists. `next` continues with the row that did not fit. */
export async function withSections(
  call: Call,
  { head = [{}], sections, next }: { head?: object[]; sections: Section<Item>[]; next?: string },
): Promise<Record<string, unknown>> {
  const start = readPosition(next, 1 + sections.length)
  const { skip = 0 } = start
  const answer = { ...(start.part === 0 && head[skip]) } as Record<string, unknown>
  if (start.part === 0 && skip + 1 < head.length)
    return { ...answer, next: writePosition({ part: 0, skip: skip + 1 }) }
  const fits = openFits(answer)
  for (let part = Math.max(1, start.part); part <= sections.length; part++) {
    const section = sections[part - 1]!
    const rows: object[] = []
    answer[section.name] = rows
    for await (const { row, place } of rowsFrom(call, section, part === start.part ? start : {})) {
      if (!row || !fits(row)) return { ...answer, next: writePosition({ part, ...place }) }
      rows.push(row)
    }
  }
  return answer
}

/** Returns each row of a section with its place. If the section has further rows, the last place has no row. */
async function* rowsFrom(
  call: Call,
  { path, show, limit = pageRows, maxPages = usualPages, isExcerpt, onPage }: Section<Item>,
  { cursor: start, after, skip = 0 }: Place,
): AsyncGenerator<{ row?: object; place: Place }> {
  let pages = 0
  for await (const { body, headers, cursor, next } of call.pages<Item>(path, limit, start)) {
    onPage?.(headers)
    // If the item `after` has left the page meanwhile, the page begins again, so that no item is lost.
    for (const item of body.slice(1 + body.findIndex(({ id }) => id === after))) {
      const rows = show(item)
      for (; skip < rows.length; skip++) yield { row: rows[skip]!, place: { cursor, after, skip } }
      after = item.id
      skip = 0
    }
    if (next === undefined || isExcerpt) return
    if (++pages === maxPages) return yield { place: { cursor: next } }
    after = undefined
  }
}

/** The next answer begins on the page after `cursor`, behind the item `after`, without the first `skip` rows of the next item. */
type Position = { part: number } & Place
interface Place {
  cursor?: string | undefined
  after?: string | undefined
  skip?: number
}

export const Next = Type.Optional(
  Type.String({ maxLength: 1_000, description: 'A text, `next` of the previous answer to the same call' }),
)

const writePosition = ({ part, skip = 0, after = '', cursor = '' }: Position): string =>
  [part, skip, after, cursor].join('.')

/** @throws HttpError 400 */
function readPosition(next = '0.0..', parts: number): Position {
  const [, part, skip, after, cursor] = /^(\d{1,3})\.(\d{1,3})\.([\w-]*)\.(.*)$/.exec(next) ?? []
  if (!part || Number(part) >= parts)
    throw badRequest('next must be from the previous answer: call again without next')
  return { part: Number(part), skip: Number(skip), after: after || undefined, cursor: cursor || undefined }
}
