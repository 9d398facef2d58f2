import type { Term } from './query.ts'
import { type Word, WordReader } from './words.ts'

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

/** So many units take at most 2 ms, but 8 ms with 32 overlapping phrases (measured). */
const unitsPerPiece = 500
/** Of so many units the best part is shown. */
const minUnitsRead = 2_000
/** Comparing so many matches takes 1 ms. */
const maxMatches = 200

/**
 * Returns a part of a text, which holds the most terms of a search: at most 200 UTF-16 code units. Yields after each piece of
 * the text. Reads until a part holds all terms, or at least to the first term and `minUnitsRead`.
 */
export function* readSnippet(text: string, terms: Term[]): Generator<undefined, Snippet> {
  const reader = new WordReader(text)
  const matches: Match[] = []
  for (let [read, next] = [unitsPerPiece, 0]; ; read += unitsPerPiece) {
    const words = reader.readTo(read + maxUnits)
    // The end of a match may depend on the next word.
    const end = words.length - (reader.isComplete ? 0 : 1)
    for (; next < end; next++) matches.push(...matchesAt(words, next, terms))
    const { best, count } = bestOf(matches.slice(0, maxMatches))
    const isEnough = count === terms.length || (best && read >= minUnitsRead) || matches.length > maxMatches
    if (isEnough || reader.isComplete) return snippetAt(text, words, matches, best)
    yield
  }
}

/** Returns the matches that end with a word. */
const matchesAt = (words: Word[], at: number, terms: Term[]): Match[] =>
  terms.flatMap(({ lexemes, isPrefix }, term) => {
    const [last, first] = [lexemes.at(-1)!, at - lexemes.length + 1]
    const { text, isDense, end } = words[at]!
    if (isPrefix ? !text.startsWith(last) : text !== last) return []
    if (lexemes.some((lexeme, n) => first + n < at && words[first + n]?.text !== lexeme)) return []
    // A single character of dense script matches the first character of a pair. The next word then begins with the second.
    const next = isDense && text !== last ? (words[at + 1]?.start ?? end) : end
    const { start } = words[first]!
    return [{ start, end: next > start ? next : end, term }]
  })

/** Returns the match before the most matches of different terms; of several such matches the earliest. */
function bestOf(matches: Match[]) {
  const [first] = matches
  let [best, count] = [first, 0]
  for (const match of matches) {
    const end = match.start + maxUnits - unitsBefore - 2 * ellipsis.length
    const near = matches.filter((one) => one.start >= match.start && one.end <= end)
    const terms = new Set(near.map(({ term }) => term)).size
    if (terms > count) [best, count] = [match, terms]
  }
  return { best, count }
}

function snippetAt(text: string, words: Word[], matches: Match[], best: Match | undefined): Snippet {
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
