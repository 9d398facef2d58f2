/** The most tokens of an answer, in the encoding o200k of language models. */
export const maxAnswerTokens = 6_000

/**
 * In this order: word, digits, JSON between two texts, space before a word, other spaces, other ASCII, common letter of
 * 2 UTF-8 bytes, other character of 2 bytes, character of 3 bytes.
 */
const pieces =
  /([A-Z]?[a-z]+|[A-Z]+)|(\d{1,3})|("[:,]"?|[{,]"|"\}(?:,\{")?)|( (?=[A-Za-z]))|( +)|([!-/:-@[-`{-~]+)|([\u00df-\u00fc\u03b1-\u03c9\u0410-\u044f\u05d0-\u05ea\u0621-\u064a])|([\u0080-\u07ff])|([\u0800-\uffff])|[^]/gu
const rareLetters = /[jkqvwxz]/g
const rareCapitals = /[JKQVWXYZ]/g
const capitals = /[A-Z]/g
const countOf = (text: string, letters: RegExp): number => text.match(letters)?.length ?? 0

function weightOf(piece: RegExpExecArray): number {
  const [, word, digits, joint, space, spaces, marks, commonOf2, of2, of3] = piece
  if (space) return 0
  if (digits || joint) return 1
  if (word) {
    const weight = 0.5 * word.length + 0.3 * countOf(word, rareLetters)
    const large = 0.3 * countOf(word, capitals) + 0.2 * countOf(word, rareCapitals)
    return large > 0 ? Math.ceil(weight + large) : Math.max(1, weight)
  }
  if (marks) return marks.length
  if (spaces) return Math.ceil(spaces.length / 80)
  if (commonOf2) return 1.05
  if (of2) return 2
  return of3 ? 3 : 4
}

/** Estimates the tokens of a text. English text has 55 % of the estimate, a list of tasks 75 %; almost no text has more. */
export function tokensOf(text: string): number {
  let tokens = 0
  for (const piece of text.matchAll(pieces)) tokens += weightOf(piece)
  return Math.ceil(tokens)
}

/** Returns the text from `start` on, cut after `maxTokens`. Returns at least one character. */
export function partOf(text: string, start: number, maxTokens: number): string {
  let left = maxTokens
  // A character has 1/80 to 4 tokens, so only the beginning of a long text is measured.
  const rest = text.slice(start, start + 80 * maxTokens)
  for (const piece of rest.matchAll(pieces)) {
    const weight = weightOf(piece)
    if (weight > left) {
      // Cuts within a long word, or within a long run of other ASCII characters.
      const fitting = piece[0].length > 2 ? Math.floor((left / weight) * piece[0].length) : 0
      return rest.slice(0, piece.index + fitting) || rest.slice(0, 1)
    }
    left -= weight
  }
  return rest
}
