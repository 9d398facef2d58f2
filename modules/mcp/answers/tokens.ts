/** The most tokens of an answer, as language models count them (o200k). */
export const maxAnswerTokens = 6_000

/** Word, digits, JSON between two texts, a space before a word, spaces, other ASCII, a character of 2 UTF-8 bytes, of 3. */
const pieces =
  /([A-Z]?[a-z]+|[A-Z]+)|(\d{1,3})|("[:,]"?|[{,]"|"\}(?:,\{")?)|( (?=[A-Za-z]))|( +)|([!-/:-@[-`{-~]+)|([\u0080-\u07ff])|([\u0800-\uffff])|[^]/gu
const rareLetters = /[jkqvwxzJKQVWXZ]/g
const tokensOfLetter = 0.5
const tokensOfRareLetter = 0.8

function weightOf([, word, digits, joint, space, spaces, marks, two, three]: RegExpExecArray): number {
  if (space) return 0
  if (digits || joint) return 1
  if (word) {
    const rare = word.match(rareLetters)?.length ?? 0
    return Math.max(1, tokensOfLetter * (word.length - rare) + tokensOfRareLetter * rare)
  }
  if (marks) return Math.max(1, 0.7 * marks.length)
  if (spaces) return Math.ceil(spaces.length / 80)
  // Greek, Cyrillic, Hebrew and Arabic letters have one token or less.
  if (two) return two < '\u0530' || (two >= '\u0590' && two < '\u0700') ? 1.05 : 2
  return three ? 2.3 : 4
}

/** Returns at least the tokens of almost every text. English text has 55 % of this estimate, a list of tasks 75 %. */
export function tokensOf(text: string): number {
  let tokens = 0
  for (const piece of text.matchAll(pieces)) tokens += weightOf(piece)
  return Math.ceil(tokens)
}

/** Returns the part of the text from `start` that has at most `maxTokens`, at least one character. */
export function partOf(text: string, start: number, maxTokens: number): string {
  let left = maxTokens
  // A character has 1/80 to 4 tokens, so only the beginning of a long text is measured.
  const rest = text.slice(start, start + 80 * maxTokens)
  for (const piece of rest.matchAll(pieces)) {
    const weight = weightOf(piece)
    if (weight <= left) left -= weight
    else
      return (
        rest.slice(0, piece.index + Math.floor(left / tokensOfRareLetter) * Number(!!piece[1])) ||
        rest.slice(0, 1)
      )
  }
  return rest
}
