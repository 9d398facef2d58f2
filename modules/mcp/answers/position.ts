import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { ToolError } from '../tool.ts'

const Position = Type.Object({
  part: Type.Integer({ minimum: 0 }),
  cursor: Type.Optional(Type.String()),
  from: Type.Optional(Type.Integer({ minimum: 0 })),
})
/** The start of the next answer: in a part, after `cursor` in its list, at the character `from` in a text of the first row. */
export type Position = Static<typeof Position>

export const Next = Type.Optional(
  Type.String({ maxLength: 1_000, description: 'A text, `next` of the previous answer to the same call' }),
)

export const writePosition = (position: Position): string =>
  Buffer.from(JSON.stringify(position)).toString('base64url')

/** @throws ToolError 400 */
export function readPosition(next: string | undefined, parts: number): Position {
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
