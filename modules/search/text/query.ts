import { badRequest } from '../../../src/responses/errors.ts'
import { hasLength, unstorableIn } from '../../../src/schema/text.ts'
import { isComparable } from './words.ts'
import { isDense, runsOf, wordsOfRun } from './words.ts'

/** Words that follow each other directly. Of a prefix, the last word may continue. */
export interface Term {
  words: string[]
  isPrefix: boolean
  /** The runs of the term, between spaces where a run must begin or end. */
  spaced: string
}
export interface SearchQuery {
  /** The query without spaces around it. */
  text: string
  /** Every term must match. Without a term, only an id or an external id can match. */
  terms: Term[]
  /** No term may match. */
  excluded: Term[]
}

const maxCharacters = 1_000
const maxTerms = 32

const badText = (text = '') =>
  badRequest(`q must be a text of 1 to ${maxCharacters} characters${unstorableIn(text)}`)
const tooManyTerms = () => badRequest(`q must have at most ${maxTerms} words and phrases`)
export const searchTextErrors = () => [badText(), tooManyTerms()]

const part = /-?"([^"]*)"?|[^\s"]+/g

/** Returns the terms of a search. A last word that may be incomplete is a prefix. @throws HttpError 400 */
export function readSearchText(q: string): SearchQuery {
  const text = q.trim()
  if (!hasLength(text, { minLength: 1, maxLength: maxCharacters }) || unstorableIn(text)) throw badText(text)
  const query: SearchQuery = { text, terms: [], excluded: [] }
  const parts = [...text.replace(/[“”„‟＂]/g, '"').matchAll(part)]
  for (const [n, part] of parts.entries()) addPart(query, part, n === parts.length - 1)
  const { terms, excluded } = query
  if (terms.length + excluded.length > maxTerms) throw tooManyTerms()
  return { text, terms: distinct(terms), excluded: distinct(excluded) }
}

const distinct = (terms: Term[]): Term[] => [
  ...new Map(terms.map((term) => [termQuery(term), term])).values(),
]

function addPart({ terms, excluded }: SearchQuery, match: RegExpMatchArray, isLast: boolean): void {
  const [word, phrase] = match
  const isExcluded = word.startsWith('-')
  const to = isExcluded ? excluded : terms
  const number = /^-?#0*([1-9]\d*)$/.exec(word)?.[1]
  if (number) return void to.push({ words: [`#${number}`], isPrefix: false, spaced: `#${number}` })
  const runs = runsOf(phrase ?? word)
  if (phrase === undefined && !isExcluded)
    to.push(...runs.map((run, n) => termOf([run], isLast && n === runs.length - 1)))
  else if (runs.length > 0) to.push(termOf(runs))
}

/** A run of dense script may continue in the text, so its last character is required only if it is alone. */
export function termOf(runs: string[], mayContinue = false): Term {
  const [words, last] = [runs.flatMap(wordsOfRun), runs.at(-1)!]
  const count = isDense(last) ? wordsOfRun(last).length : 0
  const isOpen = count > 0 || mayContinue
  return {
    words: count > 1 ? words.slice(0, -1) : words,
    isPrefix: isOpen && count <= 1,
    spaced: `${isDense(runs[0]!) ? '' : ' '}${runs.join(' ')}${isOpen ? '' : ' '}`,
  }
}

/** Returns the tsquery text of a term, with weight A for titles only. */
export function termQuery({ words, isPrefix }: Term, weight: 'A' | '' = ''): string {
  const quoted = words.map((word, n) => {
    const label = isPrefix && n === words.length - 1 ? `*${weight}` : weight
    return `'${word}'${label && `:${label}`}`
  })
  return quoted.length === 1 ? quoted[0]! : `(${quoted.join(' <-> ')})`
}

const all = (terms: Term[], weight?: 'A') => terms.map((term) => termQuery(term, weight)).join(' & ')

const minPrefix = 3

/**
 * Returns a tsquery text to look up terms in the index of words. It matches every text with all terms. A look-up of a
 * prefix reads all words of the index with this prefix, once for each project. So many small projects are read without
 * the index.
 */
export function indexQuery(terms: Term[], isSmall: boolean): string | undefined {
  const exact = terms.filter(({ isPrefix }) => !isPrefix)
  if (isSmall) return exact.length > 0 ? all(exact) : undefined
  const long = terms.filter(({ words, isPrefix }) => !isPrefix || words.at(-1)!.length >= minPrefix)
  return all(long.length > 0 ? long : terms)
}

/** Returns tsquery texts: of the whole search, and of titles that hold every term or some term. */
export const conditionsOf = ({ terms, excluded }: SearchQuery) => ({
  whole: [all(terms), ...excluded.map((term) => `!${termQuery(term)}`)].join(' & '),
  allInTitle: all(terms, 'A'),
  someInTitle: terms.map((term) => termQuery(term, 'A')).join(' | '),
})

/** Returns the words of a search for which similar words may be offered. */
export const comparableWords = ({ terms }: SearchQuery): string[] => [
  ...new Set(terms.flatMap(({ words }) => words.filter(isComparable))),
]
