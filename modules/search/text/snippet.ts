import type { Term } from './query.ts'
import { cutRun, fold, isDense, offsetsIn, runs } from './words.ts'

export interface Snippet {
  text: string
  /** Offsets [start, end) of matched words in UTF-16 code units of `text`, in ascending order and without overlaps. */
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
const ellipsis = '…'

/** The rest of a text is read only if these units contain no term. */
const unitsRead = 2_000
/** Comparing this number of matches takes 1 ms. */
const maxMatches = 200

/** Returns the part of a text that contains the most terms of a search: at most 200 UTF-16 code units. */
export function snippetOf(text: string, terms: Term[]): Snippet {
  const near = matchesIn(text.slice(0, unitsRead + maxUnits), terms).filter(({ end }) => end <= unitsRead)
  const matches = near.length > 0 || text.length <= unitsRead ? near : matchesIn(text, terms)
  matches.sort((a, b) => a.start - b.start || a.end - b.end)
  const { from, to } = windowOf(text, bestOf(matches.slice(0, maxMatches)))
  const before = from > 0 ? ellipsis : ''
  const shown: Snippet['matches'] = []
  for (const one of matches) {
    if (one.start < from || one.start >= to) continue
    const moved = before.length - from
    const [start, end, last] = [one.start + moved, Math.min(one.end, to) + moved, shown.at(-1)]
    if (last && start < last[1]) last[1] = Math.max(last[1], end)
    else shown.push([start, end])
  }
  return { text: before + text.slice(from, to) + (to < text.length ? ellipsis : ''), matches: shown }
}

function matchesIn(text: string, terms: Term[]): Match[] {
  const offsetsOf = offsetsIn(text)
  let spaced = ' '
  /** The places of the characters of `spaced` in the folded text. */
  const places = [0]
  for (const { 0: whole, index } of fold(text).matchAll(runs)) {
    const run = cutRun(whole)
    spaced += `${run} `
    for (let n = 0; n <= run.length; n++) places.push(index + n)
  }
  return terms.flatMap(({ words, isPrefix, spaced: searched }, term) => {
    const matches: Match[] = []
    const isWordOpen = isPrefix && !isDense(words.at(-1)!)
    for (let at = spaced.indexOf(searched); at >= 0; at = spaced.indexOf(searched, at + 1)) {
      const first = spaced[at] === ' ' ? at + 1 : at
      const length = searched.trimEnd().length
      const end = isWordOpen ? spaced.indexOf(' ', at + length) : at + length
      matches.push({ start: offsetsOf(places[first]!).start, end: offsetsOf(places[end - 1]!).end, term })
    }
    return matches
  })
}

/** Returns the match that begins the part with the most different terms; the earliest of several such matches. */
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

/** The window begins and ends between words, unless the text has long words. */
function windowOf(text: string, { start, end } = { start: 0, end: 0 }) {
  if (text.length <= maxUnits) return { from: 0, to: text.length }
  const before = /[\s\p{P}](.*)$/su.exec(text.slice(Math.max(0, start - unitsBefore), start))?.[1] ?? ''
  const from = start <= unitsBefore ? 0 : start - before.length
  const part = text.slice(from, from + maxUnits - 2 * ellipsis.length)
  const cut = part.search(/[\s\p{P}][^\s\p{P}]{0,50}$/u)
  const length = cut >= end - from ? cut : part.replace(/[\ud800-\udbff]$/, '').length
  return { from, to: from + part.length === text.length ? text.length : from + length }
}
