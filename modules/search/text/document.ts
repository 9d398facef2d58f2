import { isDense, wordsOf } from './words.ts'

/** A task has a number, a task and a project have a title, a comment and a subtask only a text. */
export interface DocumentText {
  number: number | null
  title: string | null
  text: string | null
}

/** A tsvector has at most 1 MiB. Only texts of characters that Unicode expands to many characters exceed this limit. */
const maxCharacters = 300_000

/**
 * Returns the text of a tsvector: a number and title with weight A, the text with weight D, or B without a title. `words` are
 * those of the title that are compared with misspelt words of searches.
 */
export function documentOf({ number, title, text }: DocumentText): { doc: string; words: string } {
  const words = title === null ? [] : wordsOf(title)
  const first = number === null ? 0 : 1
  const ofTitle = (number === null ? '' : `'#${number}':1A `) + lexemesOf(words, 'A', first)
  // The gap of one position prevents phrases that begin in the title and end in the text.
  const before = title === null ? 0 : first + words.length + 1
  const doc = ofTitle + (text ? lexemesOf(wordsOf(text), title === null ? 'B' : '', before) : '')
  return {
    doc: doc.length <= maxCharacters ? doc : doc.slice(0, doc.lastIndexOf(" '", maxCharacters)),
    words: words.filter(isComparable).join(' '),
  }
}

/** Excludes numbers and short words, because they resemble too many others. */
export const isComparable = (word: string): boolean =>
  word.length >= 3 && !/^#?\d+$/.test(word) && !isDense(word)

/** The highest position that Postgres stores. Postgres replaces a higher position by this position. */
const maxPosition = 16_383

/** Words consist of letters and digits, so nothing needs to be escaped between the quotes. */
const lexemesOf = (words: string[], weight: 'A' | 'B' | '', before: number): string =>
  words.map((word, n) => `'${word}':${Math.min(before + n + 1, maxPosition)}${weight} `).join('')
