import type { Term } from './query.ts'
import type { Word } from './words.ts'

/** An occurrence of a term in a text. `term` is the place of the term in the search; the offsets count UTF-16 code units. */
export interface Match {
  start: number
  end: number
  term: number
}

/** Finds the matches of one term, while the words of a text are read piece by piece. */
export class Matcher {
  private readonly exact: string[]
  private readonly prefix: string | undefined
  private readonly borders: number[]
  private matched = 0
  private at = 0

  constructor(
    { lexemes, isPrefix }: Term,
    private readonly term: number,
  ) {
    this.exact = isPrefix ? lexemes.slice(0, -1) : lexemes
    this.prefix = isPrefix ? lexemes.at(-1) : undefined
    this.borders = bordersOf(this.exact)
  }

  /** Adds the matches at new words. A match may need the next two words, or the end of the text. */
  addMatches(words: Word[], isComplete: boolean, matches: Match[]): void {
    const end = isComplete ? words.length : words.length - 2
    for (; this.at < end; this.at++) {
      const { at, exact, prefix } = this
      if (exact.length && !this.matchesExact(words[at]!.text)) continue
      const last = exact.length && prefix !== undefined ? at + 1 : at
      const lexeme = prefix ?? exact.at(-1)!
      if (prefix !== undefined && !words[last]?.text.startsWith(prefix)) continue
      const first = prefix === undefined ? last - exact.length + 1 : last - exact.length
      matches.push({ start: words[first]!.start, end: endOf(words, last, lexeme), term: this.term })
    }
  }

  /** Searches as Knuth, Morris and Pratt do, since a phrase may repeat a word hundreds of times. */
  private matchesExact(word: string): boolean {
    const { exact, borders } = this
    while (this.matched > 0 && (this.matched === exact.length || word !== exact[this.matched]))
      this.matched = borders[this.matched - 1]!
    if (word === exact[this.matched]) this.matched++
    return this.matched === exact.length
  }
}

/** Returns for each start of a list the length of its longest proper part that is both its start and its end. */
function bordersOf(lexemes: string[]): number[] {
  const borders = [0]
  for (let n = 1, length = 0; n < lexemes.length; n++) {
    while (length > 0 && lexemes[n] !== lexemes[length]) length = borders[length - 1]!
    if (lexemes[n] === lexemes[length]) length++
    borders.push(length)
  }
  return borders
}

/** A single character of dense script matches the first character of a pair. The next word then begins with the second. */
function endOf(words: Word[], at: number, lexeme: string): number {
  const { text, isDense, start, end } = words[at]!
  if (!isDense || text === lexeme) return end
  const next = words[at + 1]?.start ?? end
  return next > start ? next : end
}
