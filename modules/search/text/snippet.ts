import { type Match, Matcher } from './matches.ts'
import type { SearchQuery } from './query.ts'
import { type Word, WordReader } from './words.ts'

export interface Snippet {
  text: string
  /** Offsets [start, end) of matched words in UTF-16 code units of `text`, in order and apart. */
  matches: [start: number, end: number][]
  /** How many terms of the search were found. */
  count: number
}

const maxUnits = 200
const unitsBefore = 50
const maxUnusedUnits = 50
const ellipsis = '…'

/** So many units take at most 2 ms, but 8 ms with 32 overlapping phrases (measured). */
const unitsPerPiece = 500
/** Of so many units the best part is shown. */
const minUnitsRead = 2_000
/** Phrases may overlap, and then have up to 32 matches for each word. */
const maxMatches = 5_000

/** Returns the snippet of a text at once. */
export function snippetOf(text: string, query: Pick<SearchQuery, 'terms'>): Snippet {
  const reading = readSnippet(text, query)
  for (;;) {
    const step = reading.next()
    if (step.done) return step.value
  }
}

/**
 * Returns the part of a text that holds the most terms of a search: at most 200 UTF-16 code units. Yields after each piece
 * of the text. Reads no more pieces if a part holds all terms, or if a later piece has no better part.
 */
export function* readSnippet(
  text: string,
  { terms }: Pick<SearchQuery, 'terms'>,
): Generator<undefined, Snippet> {
  const reader = new WordReader(text)
  const matchers = terms.map((term, n) => new Matcher(term, n))
  const matches: Match[] = []
  const readTo = (offset: number) => {
    const words = reader.readTo(offset)
    for (const matcher of matchers) matcher.addMatches(words, reader.isComplete, matches)
    matches.sort((a, b) => a.start - b.start || a.end - b.end)
    return words
  }
  let best: Best = { match: undefined, count: 0 }
  let read = 0
  for (let isBetter = true; isBetter && !reader.isComplete && matches.length < maxMatches;) {
    if (read > 0) yield
    readTo((read += unitsPerPiece))
    const previous = best
    best = bestOf(matches)
    isBetter =
      best.count < terms.length && (read < minUnitsRead || best.count > previous.count || !best.match)
  }
  return snippetAt(text, readTo(read + maxUnits), matches, best)
}

function snippetAt(text: string, words: Word[], matches: Match[], { match }: Best): Snippet {
  const { from, to } = text.length <= maxUnits ? { from: 0, to: text.length } : windowOf(text, words, match)
  const before = from > 0 ? ellipsis : ''
  const shift = before.length - from
  return {
    text: before + text.slice(from, to) + (to < text.length ? ellipsis : ''),
    matches: within(matches, from, to).map(([start, end]) => [start + shift, end + shift]),
    count: new Set(matches.map(({ term }) => term)).size,
  }
}

/** Returns the parts of matches between two offsets. Joins matches that overlap. */
function within(matches: Match[], from: number, to: number): Snippet['matches'] {
  const result: Snippet['matches'] = []
  for (const match of matches) {
    const [start, end] = [Math.max(match.start, from), Math.min(match.end, to)]
    if (start >= end) continue
    const last = result.at(-1)
    if (last && start < last[1]) last[1] = Math.max(last[1], end)
    else result.push([start, end])
  }
  return result
}

function windowOf(text: string, words: Word[], match: Match | undefined): { from: number; to: number } {
  const { start, end } = match ?? { start: 0, end: 0 }
  const from = start <= unitsBefore ? 0 : words.find((word) => word.start >= start - unitsBefore)!.start
  const latest = from + maxUnits - (from > 0 ? 2 : 1) * ellipsis.length
  if (latest >= text.length) return { from, to: text.length }
  const to = words.findLast((word) => word.end <= latest)?.end ?? 0
  // A match may be longer than a snippet, and other long words or texts without words would leave little to show.
  return {
    from,
    to: to >= Math.max(Math.min(end, latest), latest - maxUnusedUnits) ? to : withoutHalf(text, latest),
  }
}

/** Returns an offset that is not between the halves of a surrogate pair. */
const withoutHalf = (text: string, at: number) => (/[\udc00-\udfff]/.test(text[at]!) ? at - 1 : at)

interface Best {
  match: Match | undefined
  /** How many terms the part of the text after the match holds. */
  count: number
}

/** Returns the match before the most matches of different terms; of several such matches the earliest. */
function bestOf(matches: Match[]): Best {
  const counts = new Map<number, number>()
  let [best, most, next] = [matches[0], 0, 0]
  for (const match of matches) {
    const end = match.start + maxUnits - unitsBefore - 2 * ellipsis.length
    for (; next < matches.length && matches[next]!.end <= end; next++)
      counts.set(matches[next]!.term, (counts.get(matches[next]!.term) ?? 0) + 1)
    if (counts.size > most) [best, most] = [match, counts.size]
    const left = (counts.get(match.term) ?? 0) - 1
    if (left > 0) counts.set(match.term, left)
    else counts.delete(match.term)
  }
  return { match: best, count: most }
}
