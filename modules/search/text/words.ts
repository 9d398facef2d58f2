/** Scripts that put no spaces between words, or add endings to words as Korean does. */
const dense = String.raw`[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]`
/** A word, or adjacent characters of dense scripts. Folded texts have letters and digits beyond ASCII, but no other characters. */
export const runs = new RegExp(String.raw`${dense}+|[[0-9a-z\x80-\u{10ffff}]--${dense}]+`, 'gv')
const startsDense = new RegExp(`^${dense}`, 'v')

export const isDense = (run: string): boolean => run.charCodeAt(0) > 127 && startsDense.test(run)

const maxWordUnits = 200

/** Returns the runs of a text in order. */
export const runsOf = (text: string): string[] => (fold(text).match(runs) ?? []).map(cutRun)

export function cutRun(run: string): string {
  if (run.length <= maxWordUnits || isDense(run)) return run
  return run.slice(0, maxWordUnits).replace(/[\ud800-\udbff]$/, '')
}

/** Returns the words of a text in order. Documents and searches both use these words. */
export function wordsOf(text: string): string[] {
  const all = runsOf(text)
  return all.some(isDense) ? all.flatMap(wordsOfRun) : all
}

/** Each two adjacent characters of a dense run form a word. The last character alone is a word too. */
export function wordsOfRun(run: string): string[] {
  if (!isDense(run)) return [run]
  const characters = [...run]
  return characters.map((character, n) => character + (characters[n + 1] ?? ''))
}

/** A character that is folded by itself: beyond ASCII, or the parts of one Korean syllable. */
const folded = /[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?|[\uac00-\ud7a3][\u11a8-\u11c2]|[^\0-\x7f]/gu

const characters = new RegExp(`${folded.source}|[^]`, 'gu')

/** Returns a text without case, accents and compatibility forms. All characters but letters and digits are ASCII. */
export const fold = (text: string): string => text.replace(folded, foldedCharacter).toLowerCase()

/** Returns a function from a unit of the folded text to the offsets of its character in the text, in UTF-16 code units. */
export function offsetsIn(text: string): (unit: number) => { start: number; end: number } {
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

/** Vowel signs of Indic and similar scripts are letters. In these scripts marks are accents, or vowels that most writers omit. */
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
