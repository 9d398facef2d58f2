import { maxAnswerTokens, partOf, tokensOf } from './tokens.ts'

/** The tokens of `next` and of the names of lists. */
const reservedTokens = 400
/** A longer text is cut, because the other fields must fit too, and JSON may double the tokens of a text. */
const maxTextTokens = 2_000

/** Counts the tokens that are left for the rows of an answer. */
export class TokenBudget {
  private left: number
  private isEmpty = true

  /** @param head the other fields of the answer, or a budget to copy */
  constructor(head: object | TokenBudget) {
    if (head instanceof TokenBudget) [this.left, this.isEmpty] = [head.left, head.isEmpty]
    else this.left = maxAnswerTokens - reservedTokens - tokensOf(JSON.stringify(head))
  }

  /** Subtracts the tokens of the row. Returns false if the row does not fit; the first row always fits. */
  add(row: unknown): boolean {
    const tokens = tokensOf(JSON.stringify(row)) + 1
    if (tokens > this.left && !this.isEmpty) return false
    this.isEmpty = false
    this.left -= tokens
    return true
  }
}

/** Returns the text after `from` characters. If the text is too long for one answer, the next answer starts at `cutAt`. */
export function cut(text: string | null, from = 0): { text: string | null; cutAt?: number } {
  if (text === null) return { text }
  const part = partOf(text, from, maxTextTokens)
  const end = from + part.length
  return end < text.length ? { text: part, cutAt: end } : { text: part }
}

/** Returns the beginning of a text, with an ellipsis if the text is longer. */
export function shortened(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text
  return `${text.slice(0, maxCharacters).replace(/[\ud800-\udbff]$/, '')}…`
}
