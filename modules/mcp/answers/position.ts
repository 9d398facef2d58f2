import { Type } from '@sinclair/typebox'
import { ToolError } from '../tool.ts'

/** Where the next answer begins: in a part, after `cursor` in its list, at the character `from` in a text of the first row. */
export interface Position {
  part: number
  cursor?: string
  from?: number
}

export const Next = Type.Optional(
  Type.String({ maxLength: 1_000, description: '`next` of the previous answer to the same call' }),
)

export const writePosition = (position: Position): string =>
  Buffer.from(JSON.stringify(position)).toString('base64url')

/** @throws ToolError 400 */
export function readPosition(next: string | undefined, parts: number): Position {
  if (next === undefined) return { part: 0 }
  try {
    const { part, cursor, from = 0 } = JSON.parse(Buffer.from(next, 'base64url').toString()) as Position
    const isCursor = cursor === undefined || typeof cursor === 'string'
    if (
      Number.isInteger(part) &&
      part >= 0 &&
      part < parts &&
      isCursor &&
      Number.isInteger(from) &&
      from >= 0
    )
      return { part, cursor, from }
  } catch {
    // falls through
  }
  throw new ToolError(
    400,
    'next must be from the previous answer',
    'Call again without next to begin with the first answer',
  )
}
