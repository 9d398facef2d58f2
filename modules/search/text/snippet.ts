import type { Term } from './query.ts'
import { type Word, wordsOf } from './words.ts'

export interface Snippet {
  text: string
  /** Offsets [start, end) of matched words in UTF-16 code units of `text`, in order and apart. */
  matches: [start: number, end: number][]
}

/** An occurrence of a term. `term` is the place of the term in the search. */
interface Match {
  start: number
  end: number
  term: number
}

const maxUnits = 200
const unitsBefore = 50
const maxUnusedUnits = 50
const ellipsis = '…'

/** The rest of a text is read only if these units contain no term. 20,000 units take 5 ms, but 30 ms with 32 terms (measured). */
const unitsRead = 2_000
/** Comparing so many matches takes 1 ms. */
const maxMatches = 200

/** Returns a part of a text, which holds the most terms of a search: at most 200 UTF-16 code units. */
export function snippetOf(text: string, terms: Term[]): Snippet {
  const snippetIn = (units: number) => {
    const words = wordsOf(text.slice(0, units + maxUnits))
    const matches = terms
      .flatMap((term, n) => matchesOf(term, n, words))
      .filter(({ end }) => end <= units)
      .sort((a, b) => a.end - b.end)
    if (matches.length > 0 || units >= text.length) return snippetAt(text, words, matches)
  }
  return snippetIn(unitsRead) ?? snippetIn(text.length)!
}

function matchesOf({ lexemes, isPrefix }: Term, term: number, words: Word[]): Match[] {
  const matches: Match[] = []
  const final = lexemes.length - 1
  const isAt = (first: number) =>
    lexemes.every((lexeme, n) => {
      const { text } = words[first + n]!
      return isPrefix && n === final ? text.startsWith(lexeme) : text === lexeme
    })
  for (let first = 0, last = final; last < words.length; first++, last++) {
    if (!isAt(first)) continue
    const { text, isDense, end } = words[last]!
    // A single character of dense script matches the first character of a pair. The next word then begins with the second.
    const next = isDense && text !== lexemes[final] ? (words[last + 1]?.start ?? end) : end
    const { start } = words[first]!
    matches.push({ start, end: next > start ? next : end, term })
  }
  return matches
}

/** Returns the match before the most matches of different terms; of several such matches the earliest. */
function bestOf(matches: Match[]): Match | undefined {
  let [best, count] = [matches[0], 0]
  for (const match of matches) {
    const end = match.start + maxUnits - unitsBefore - 2 * ellipsis.length
    const near = matches.filter((one) => one.start >= match.start && one.end <= end)
    const terms = new Set(near.map(({ term }) => term)).size
    if (terms > count) [best, count] = [match, terms]
  }
  return best
}

function snippetAt(text: string, words: Word[], matches: Match[]): Snippet {
  const best = bestOf(matches.slice(0, maxMatches))
  const { from, to } = text.length <= maxUnits ? { from: 0, to: text.length } : windowOf(text, words, best)
  const before = from > 0 ? ellipsis : ''
  const shown: Snippet['matches'] = []
  for (const one of matches.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    const [start, end] = [one.start, Math.min(one.end, to)].map((at) => at - from + before.length) as [
      number,
      number,
    ]
    if (one.start < from || start >= end) continue
    const last = shown.at(-1)
    if (last && start < last[1]) last[1] = Math.max(last[1], end)
    else shown.push([start, end])
  }
  return { text: before + text.slice(from, to) + (to < text.length ? ellipsis : ''), matches: shown }
}

function windowOf(text: string, words: Word[], { start, end } = { start: 0, end: 0 }) {
  const from = start <= unitsBefore ? 0 : words.find((word) => word.start >= start - unitsBefore)!.start
  const latest = from + maxUnits - (from > 0 ? 2 : 1) * ellipsis.length
  if (latest >= text.length) return { from, to: text.length }
  const to = words.findLast((word) => word.end <= latest)?.end ?? 0
  // A match may be longer than a snippet, and other long words or texts without words would leave little to show.
  if (to >= Math.max(Math.min(end, latest), latest - maxUnusedUnits)) return { from, to }
  return { from, to: /[\udc00-\udfff]/.test(text[latest]!) ? latest - 1 : latest }
}
