import { badRequest } from '../../../src/responses/errors.ts'
import { hasLength, unstorableIn } from '../../../src/schema/text.ts'
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

const badText = (text = '') =>
  badRequest(`q must be a text of 1 to ${maxCharacters} characters${unstorableIn(text)}`)
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
  if (!hasLength(text, { minLength: 1, maxLength: maxCharacters }) || text.includes('\0')) throw badText(text)
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
  for (const word of wordsOf(text)) {
    const last = groups.at(-1)
    if (last && isPair(last.at(-1)!)) last.push(word)
    else groups.push([word])
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

/** Returns the tsquery text of a term, with weight A for titles only. */
export function termQuery({ lexemes, isPrefix }: Term, weight: 'A' | '' = ''): string {
  const quoted = lexemes.map((lexeme, n) => {
    const label = isPrefix && n === lexemes.length - 1 ? `*${weight}` : weight
    return `'${lexeme}'${label && `:${label}`}`
  })
  return quoted.length === 1 ? quoted[0]! : `(${quoted.join(' <-> ')})`
}

const all = (terms: Term[], weight?: 'A') => terms.map((term) => termQuery(term, weight)).join(' & ')

/** Returns tsquery texts: of the whole search, and of titles that hold every term or some term. */
export const conditionsOf = ({ terms, excluded }: SearchQuery) => ({
  whole: [all(terms), ...excluded.map((term) => `!${termQuery(term)}`)].join(' & '),
  allInTitle: all(terms, 'A'),
  someInTitle: terms.map((term) => termQuery(term, 'A')).join(' | '),
})

/** More words make a look-up in the index no faster, and a shorter prefix opens very many words of the index. */
const maxIndexWords = 16
const minPrefix = 3

/** Returns a tsquery text for the index of words, which has no phrases. Every text that the search matches matches it. */
export function indexQuery({ terms, excluded }: Pick<SearchQuery, 'terms' | 'excluded'>): string {
  const required = terms.flatMap(({ lexemes, isPrefix }) =>
    lexemes.map((text, n) => ({ text, isPrefix: isPrefix && n === lexemes.length - 1 })),
  )
  const selective = required.filter(({ text, isPrefix }) => !isPrefix || text.length >= minPrefix)
  const quoted = selective.map(({ text, isPrefix }) => (isPrefix ? `'${text}':*` : `'${text}'`))
  // Long words tend to be rare.
  const longest = [...new Set(quoted)].sort((a, b) => b.length - a.length).slice(0, maxIndexWords)
  const words = excluded.filter(({ lexemes, isPrefix }) => lexemes.length === 1 && !isPrefix)
  return [longest.join(' & ') || all(terms), ...words.map((term) => `!${termQuery(term)}`)].join(' & ')
}

/** Returns the words of a search for which similar words may be offered. */
export const comparableWords = ({ terms }: SearchQuery): string[] => {
  const words = terms.flatMap(({ lexemes, isDense }) => (isDense ? [] : lexemes))
  return [...new Set(words.filter((word) => !word.startsWith('#') && isComparable(word)))]
}
