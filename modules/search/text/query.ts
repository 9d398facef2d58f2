import { badRequest } from '../../../src/responses/errors.ts'
import { hasLength } from '../../../src/schema/text.ts'
import { isComparable } from './document.ts'
import { type Word, wordsOf } from './words.ts'

/** Lexemes that follow each other directly. Of a prefix, the last lexeme may continue. */
export interface Term {
  lexemes: string[]
  isPrefix: boolean
  isDense: boolean
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

const badText = () => badRequest(`q must be a text of 1 to ${maxCharacters} characters`)
const tooManyTerms = () => badRequest(`q must have at most ${maxTerms} words and phrases`)
export const searchTextErrors = () => [badText(), tooManyTerms()]

const part = /(-?)"([^"]*)"?|[^\s"]+/g

/**
 * Returns the terms of a search. A last word that may be incomplete is a prefix.
 * @throws HttpError 400
 */
export function readSearchText(q: string): SearchQuery {
  const text = q.trim()
  // Postgres cannot compare a text with U+0000.
  if (!hasLength(text, { minLength: 1, maxLength: maxCharacters }) || text.includes('\0')) throw badText()
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
  const [word, minus, phrase] = match
  if (phrase !== undefined) return void (minus ? excluded : terms).push(...phraseOf(phrase))
  const isExcluded = word.startsWith('-')
  const text = isExcluded ? word.slice(1) : word
  const number = /^#0*([1-9]\d*)$/.exec(text)?.[1]
  if (number) return void (isExcluded ? excluded : terms).push(exact([`#${number}`]))
  if (isExcluded) return void excluded.push(...phraseOf(text))
  const found = termsOf(text)
  const last = found.at(-1)
  if (isLast && last && !last.isDense) last.isPrefix = true
  terms.push(...found)
}

const exact = (lexemes: string[]): Term => ({ lexemes, isPrefix: false, isDense: false })

function phraseOf(text: string): Term[] {
  const words = wordsOf(text)
  return words.length ? [termOf(words)] : []
}

/** Returns a term for each word, and a term for each run of dense script. */
function termsOf(text: string): Term[] {
  const groups: Word[][] = []
  let previous: Word | undefined
  for (const word of wordsOf(text)) {
    if (previous && isPair(previous)) groups.at(-1)!.push(word)
    else groups.push([word])
    previous = word
  }
  return groups.map(termOf)
}

/** Two characters of a run. Every run ends with a single character, so that another word of the run follows. */
const isPair = ({ text, isDense }: Word) =>
  isDense && text.length > String.fromCodePoint(text.codePointAt(0)!).length

/** A run of dense script may continue in the text, so that its last character alone is not required. */
function termOf(words: Word[]): Term {
  const last = words.at(-1)!
  const before = words.at(-2)
  const isRunEnd = last.isDense && before !== undefined && isPair(before)
  const lexemes = (isRunEnd ? words.slice(0, -1) : words).map(({ text }) => text)
  return { lexemes, isPrefix: last.isDense && !isRunEnd, isDense: last.isDense }
}

/** A longer phrase begins with words that must occur anywhere: Postgres rejects most texts by them in a tenth of the time. */
const maxShortPhrase = 8
const checkedFirst = 4

/** Returns the tsquery text of a term, with weight A for titles only. */
export function termQuery(term: Term, weight: 'A' | '' = ''): string {
  const quoted = quotedLexemes(term, weight)
  if (quoted.length === 1) return quoted[0]!
  const phrase = `(${quoted.join(' <-> ')})`
  return quoted.length > maxShortPhrase ? `(${someOf(quoted)} & ${phrase})` : phrase
}

const quotedLexemes = ({ lexemes, isPrefix }: Term, weight = ''): string[] =>
  lexemes.map((lexeme, n) => {
    const label = isPrefix && n === lexemes.length - 1 ? `*${weight}` : weight
    return `'${lexeme}'${label && `:${label}`}`
  })

/** Returns the longest of several lexemes, which tend to be rare. */
const someOf = (quoted: string[]): string =>
  [...new Set(quoted)]
    .sort((a, b) => b.length - a.length)
    .slice(0, checkedFirst)
    .join(' & ')

const all = (terms: Term[], weight?: 'A') => terms.map((term) => termQuery(term, weight)).join(' & ')

/** Returns the tsquery text of the whole search. */
export const wholeQuery = ({ terms, excluded }: SearchQuery): string =>
  [all(terms), ...excluded.map((term) => `!${termQuery(term)}`)].join(' & ')

/** Returns the tsquery text for titles that hold every term. */
export const allInTitle = ({ terms }: SearchQuery): string => all(terms, 'A')

/** Returns the tsquery text for titles that hold some term. */
export const someInTitle = ({ terms }: SearchQuery): string =>
  terms.map((term) => termQuery(term, 'A')).join(' | ')

/** Returns the words of a search for which similar words may be offered. */
export const comparableWords = ({ terms }: SearchQuery): string[] => {
  const words = terms.flatMap(({ lexemes, isDense }) => (isDense ? [] : lexemes))
  return [...new Set(words.filter((word) => !word.startsWith('#') && isComparable(word)))]
}
