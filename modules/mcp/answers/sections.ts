import { writeCursor } from '../../../src/reads/pages.ts'
import { cursorOf, read, withQuery } from '../requests.ts'
import { type Call, ToolError } from '../tool.ts'
import { Budget } from './budget.ts'
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

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
  show(row: Row, from?: number): Shown | undefined
  /** Returns the cursor of the page after the row. By default for a list in the order of ids. */
  cursorAfter?(row: Row): string
  /** The most rows that the answer shows. By default all rows. */
  limit?: number
}

type AnySection = Section<{ id: string }>

const pageRows = 100
/** The most pages of a list that one answer reads. */
const maxPages = 10

/** Returns an answer with the fields of `head` and with lists. If a row does not fit, `next` continues with this row. */
export async function withSections(
  call: Call,
  head: (from?: number) => Shown,
  sections: Section[],
  next?: string,
): Promise<object> {
  const start = readPosition(next, 1 + sections.length)
  const { row: answer, cutAt } = start.part === 0 ? head(start.from) : { row: {} }
  if (cutAt) return { ...answer, next: writePosition({ part: 0, from: cutAt }) }
  const budget = new Budget(answer)
  const lists: Record<string, object[]> = {}
  for (let part = Math.max(1, start.part); part <= sections.length; part++) {
    const section = sections[part - 1] as AnySection
    const { rows, rest } = await readSection(call, section, budget, part === start.part ? start : {})
    lists[section.name] = rows
    if (rest) return { ...answer, ...lists, next: writePosition({ part, ...rest }) }
  }
  return { ...answer, ...lists }
}

type RowPosition = Omit<Position, 'part'>

/** Returns the rows from `start` on that fit into the answer. `rest` is the position of the first row that does not fit. */
async function readSection(
  call: Call,
  section: AnySection,
  budget: Budget,
  start: RowPosition,
): Promise<{ rows: object[]; rest?: RowPosition }> {
  const { path, show, limit, cursorAfter = ({ id }) => writeCursor([id]) } = section
  const rows: object[] = []
  let { cursor, from } = start
  for (let pages = 0; pages < maxPages; pages++) {
    const page = await read<{ id: string }[]>(call, withQuery(path, { limit: limit ?? pageRows, cursor }))
    for (const one of page.body) {
      const shown = show(one, from)
      if (shown && !budget.add(shown.row)) return { rows, rest: { cursor, from } }
      if (shown) rows.push(shown.row)
      if (shown?.cutAt) return { rows, rest: { cursor, from: shown.cutAt } }
      cursor = cursorAfter(one)
      from = undefined
    }
    const link = cursorOf(page)
    if (link === undefined || limit !== undefined) return { rows }
    cursor = link
  }
  return { rows, rest: { cursor } }
}

const Position = Type.Object({
  part: Type.Integer({ minimum: 0 }),
  cursor: Type.Optional(Type.String()),
  from: Type.Optional(Type.Integer({ minimum: 0 })),
})
/** The start of the next answer: in a part, after `cursor` in its list, at the character `from` in a text of the first row. */
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
