/** The most characters of an answer. */
export const maxAnswerCharacters = 20_000
/** The characters of `next` and of the names of lists. */
const reservedCharacters = 1_500
/** A longer text is cut, because the other fields of a task must fit too. */
const maxTextCharacters = 6_000

/** Counts the characters that are left for the rows of an answer. */
export class Budget {
  private left: number
  private isEmpty = true

  /** @param head the other fields of the answer, or a budget to copy */
  constructor(head: object | Budget) {
    if (head instanceof Budget) [this.left, this.isEmpty] = [head.left, head.isEmpty]
    else this.left = maxAnswerCharacters - reservedCharacters - JSON.stringify(head).length
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
