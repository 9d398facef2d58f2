import { badRequest } from '../../src/responses/errors.ts'
import { hasLength, unstorableIn } from '../../src/schema/input.ts'

/** Words that follow each other directly. In a prefix, the last word may be incomplete. */
export interface Term {
  words: string[]
  isPrefix: boolean
  /** The runs of the term, with spaces between. A space at an end means that a word must begin or end there. */
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
  return query
}

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

/** A run of dense script may continue in the text, so the word of its last character is used only if it is the only word. */
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

/** Returns tsquery texts: of the whole search, and of titles that contain every term or some term. */
export const conditionsOf = ({ terms, excluded }: SearchQuery) => ({
  whole: [all(terms), ...excluded.map((term) => `!${termQuery(term)}`)].join(' & '),
  allInTitle: all(terms, 'A'),
  someInTitle: terms.map((term) => termQuery(term, 'A')).join(' | '),
})

export interface Snippet {
  text: string
  /** Offsets [start, end) of matched words in UTF-16 code units of `text`, in ascending order and without overlaps. */
  matches: [start: number, end: number][]
}

const maxUnits = 200
const unitsBefore = 50
const ellipsis = '…'

/** The rest of a text is read only if these units contain no term. */
const unitsRead = 2_000

/** Returns the part of a text around the first match: at most 200 UTF-16 code units. */
export function snippetOf(text: string, terms: Term[]): Snippet {
  const near = matchesIn(text.slice(0, unitsRead + maxUnits), terms).filter(([, end]) => end <= unitsRead)
  const matches = near.length > 0 || text.length <= unitsRead ? near : matchesIn(text, terms)
  matches.sort((a, b) => a[0] - b[0] || a[1] - b[1])
  const { from, to } = windowOf(text, matches[0]?.[0] ?? 0)
  const before = from > 0 ? ellipsis : ''
  const shown: Snippet['matches'] = []
  for (const [start, end] of matches) {
    if (start >= to) break
    const moved = before.length - from
    const [first, last, previous] = [start + moved, Math.min(end, to) + moved, shown.at(-1)]
    if (previous && first < previous[1]) previous[1] = Math.max(previous[1], last)
    else shown.push([first, last])
  }
  return { text: before + text.slice(from, to) + (to < text.length ? ellipsis : ''), matches: shown }
}

/** Returns the start and the end of each occurrence of a term. */
function matchesIn(text: string, terms: Term[]): Snippet['matches'] {
  const offsetsOf = offsetsIn(text)
  let spaced = ' '
  /** The places of the characters of `spaced` in the folded text. */
  const places = [0]
  for (const { 0: whole, index } of fold(text).matchAll(runs)) {
    const run = cutRun(whole)
    spaced += `${run} `
    for (let n = 0; n <= run.length; n++) places.push(index + n)
  }
  return terms.flatMap(({ words, isPrefix, spaced: searched }) => {
    const matches: Snippet['matches'] = []
    const isWordOpen = isPrefix && !isDense(words.at(-1)!)
    for (let at = spaced.indexOf(searched); at >= 0; at = spaced.indexOf(searched, at + 1)) {
      const first = spaced[at] === ' ' ? at + 1 : at
      const length = searched.trimEnd().length
      const end = isWordOpen ? spaced.indexOf(' ', at + length) : at + length
      matches.push([offsetsOf(places[first]!).start, offsetsOf(places[end - 1]!).end])
    }
    return matches
  })
}

/** The window begins between words, shortly before `start`, unless the text has long words. */
function windowOf(text: string, start: number) {
  if (text.length <= maxUnits) return { from: 0, to: text.length }
  const before = /[\s\p{P}](.*)$/su.exec(text.slice(Math.max(0, start - unitsBefore), start))?.[1] ?? ''
  const from = start <= unitsBefore ? 0 : start - before.length
  const part = text.slice(from, from + maxUnits - 2 * ellipsis.length)
  const isEnd = from + part.length === text.length
  return { from, to: from + (isEnd ? part : part.replace(/[\ud800-\udbff]$/, '')).length }
}

/** Scripts that put no spaces between words, or add endings to words as Korean does. */
const dense = String.raw`[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]`
/** A word, or adjacent characters of dense scripts. Folded texts have letters and digits beyond ASCII, but no other characters. */
const runs = new RegExp(String.raw`${dense}+|[[0-9a-z\x80-\u{10ffff}]--${dense}]+`, 'gv')
const startsDense = new RegExp(`^${dense}`, 'v')

const isDense = (run: string): boolean => run.charCodeAt(0) > 127 && startsDense.test(run)

const maxWordUnits = 200

/** Returns the runs of a text in order. */
const runsOf = (text: string): string[] => (fold(text).match(runs) ?? []).map(cutRun)

function cutRun(run: string): string {
  if (run.length <= maxWordUnits || isDense(run)) return run
  return run.slice(0, maxWordUnits).replace(/[\ud800-\udbff]$/, '')
}

/** Returns the words of a text in order. Documents and searches both use these words. */
const wordsOf = (text: string): string[] => runsOf(text).flatMap(wordsOfRun)

/** Each two adjacent characters of a dense run form a word. The last character alone is a word too. */
function wordsOfRun(run: string): string[] {
  if (!isDense(run)) return [run]
  const characters = [...run]
  return characters.map((character, n) => character + (characters[n + 1] ?? ''))
}

/** A character that is folded by itself: beyond ASCII, or the parts of one Korean syllable. */
const folded = /[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?|[\uac00-\ud7a3][\u11a8-\u11c2]|[^\0-\x7f]/gu

const characters = new RegExp(`${folded.source}|[^]`, 'gu')

/** Returns a text without case, accents and compatibility forms. All characters but letters and digits are ASCII. */
const fold = (text: string): string => text.replace(folded, foldedCharacter).toLowerCase()

/** Returns a function from a unit of the folded text to the offsets of its character in the text, in UTF-16 code units. */
function offsetsIn(text: string): (unit: number) => { start: number; end: number } {
  if (text.search(folded) === -1) return (unit) => ({ start: unit, end: unit + 1 })
  const offsets: { start: number; end: number }[] = []
  for (const { 0: character, index } of text.matchAll(characters)) {
    const end = index + character.length
    const { length } = character < '\x80' ? character : foldedCharacter(character)
    // Characters that `fold` removes, such as accents, belong to the character before them.
    if (length === 0 && offsets.length > 0) offsets.at(-1)!.end = end
    for (let n = 0; n < length; n++) offsets.push({ start: index, end })
  }
  return (unit) => offsets[unit]!
}

const maxCached = 20_000
const cached = new Map<string, string>()

function foldedCharacter(character: string): string {
  const known = cached.get(character)
  if (known !== undefined) return known
  if (cached.size >= maxCached) cached.clear()
  const result = character
    .normalize('NFKD')
    .replace(ignored, '')
    .toLowerCase()
    .replace(/[^\0-\x7f]/gu, (one) => letters.get(one) ?? asciiDigit(one))
    // Composes the parts of a Korean syllable.
    .normalize('NFC')
    .replace(separator, ' ')
  cached.set(character, result)
  return result
}

/** Vowel signs of Indic and similar scripts are letters. Marks of the scripts below are accents, or vowels that most writers omit. */
const letterMark = String.raw`[[\p{M}&&\p{Alphabetic}]--[\p{scx=Latin}\p{scx=Greek}\p{scx=Cyrillic}\p{scx=Arabic}\p{scx=Hebrew}\p{scx=Syriac}\p{Script=Inherited}]]`
/** A zero width space marks the end of a word, unlike a zero width joiner or a soft hyphen. */
const ignored = new RegExp(
  String.raw`[[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}ـ]--[\u200b${letterMark}]]`,
  'gv',
)
/** The apostrophes among the letters, U+02BB and U+02BC, separate words like every other apostrophe. */
const separator = new RegExp(String.raw`[ʻʼ]|[^\p{L}\p{N}${letterMark}]`, 'gv')

/** Letters that Unicode does not decompose, as in the rules of Postgres' unaccent, and the final sigma. */
const letters = new Map(
  [...'ßæœøđðþłħıȷĸŋŧƀɓɖɗɨɫƚɲƶʉəς'].map((letter, n) => [
    letter,
    'ss ae oe o d d th l h i j q n t b b d d i l l n z u e σ'.split(' ')[n]!,
  ]),
)

/** Decimal digits of every script are consecutive, from 0 to 9. */
function asciiDigit(text: string): string {
  if (!/\p{Nd}/u.test(text)) return text
  const code = text.codePointAt(0)!
  let first = code
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--
  return String((code - first) % 10)
}

/** A task has a number, a task and a project have a title, a comment and a subtask only a text. */
export interface DocumentText {
  number: number | null
  title: string | null
  text: string | null
}

/** A tsvector has at most 1 MiB. Only texts of characters that Unicode expands to many characters exceed this limit. */
const maxDocumentCharacters = 300_000

/**
 * Returns the text of a tsvector: a number and title with weight A, the text with weight D, or B without a title. `words` are
 * the words of the title, with which misspelt words of searches are compared.
 */
export function documentOf({ number, title, text }: DocumentText): { doc: string; words: string } {
  const words = title === null ? [] : wordsOf(title)
  const first = number === null ? 0 : 1
  const ofTitle = (number === null ? '' : `'#${number}':1A `) + lexemesOf(words, 'A', first)
  // The gap of one position prevents phrases that begin in the title and end in the text.
  const before = title === null ? 0 : first + words.length + 1
  const doc = ofTitle + (text ? lexemesOf(wordsOf(text), title === null ? 'B' : '', before) : '')
  return {
    doc:
      doc.length <= maxDocumentCharacters ? doc : doc.slice(0, doc.lastIndexOf(" '", maxDocumentCharacters)),
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
