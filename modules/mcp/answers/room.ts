import { maxAnswerTokens, partOf, tokensOf } from './tokens.ts'

/** Tokens for `next` and for the names of lists. */
const reservedTokens = 400
/** A longer text is cut: the answer must have room for the other fields, and JSON may double the tokens of a text. */
const maxTextTokens = 2_000

/** The room for rows in an answer that also contains `head`, or a copy of a room. */
export class Room {
  private left: number
  private isEmpty = true

  constructor(head: object | Room) {
    if (head instanceof Room) [this.left, this.isEmpty] = [head.left, head.isEmpty]
    else this.left = maxAnswerTokens - reservedTokens - tokensOf(JSON.stringify(head))
  }

  /** Returns false if the row does not fit. The first row always fits. */
  takes(row: unknown): boolean {
    const tokens = tokensOf(JSON.stringify(row)) + 1
    if (tokens > this.left && !this.isEmpty) return false
    this.isEmpty = false
    this.left -= tokens
    return true
  }
}

/** Returns a text from `from` on, and where the next answer continues if the text is too long for one answer. */
export function cut(text: string | null, from = 0): { text: string | null; cutAt?: number } {
  if (text === null) return { text }
  const part = partOf(text, from, maxTextTokens)
  const end = from + part.length
  return end < text.length ? { text: part, cutAt: end } : { text: part }
}

/** Returns the beginning of a text, with an ellipsis if something is missing. */
export function shortened(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text
  return `${text.slice(0, maxCharacters).replace(/[\ud800-\udbff]$/, '')}…`
}
