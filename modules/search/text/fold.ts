/** `dense` characters belong to scripts that put no spaces between words, or add endings to words as Korean does. */
export type Kind = 'plain' | 'dense' | 'separator'
export interface Folded {
  text: string
  kind: Kind
}

const maxCached = 20_000
const cached = new Map<string, Folded[]>()

/**
 * Returns what one character counts as in words: without case, accents and compatibility forms. The result is empty for an
 * accent or an invisible character, and has several parts for a ligature.
 */
export function fold(character: string): Folded[] {
  const known = cached.get(character)
  if (known) return known
  if (cached.size >= maxCached) cached.clear()
  const parts = foldedParts(character)
  cached.set(character, parts)
  return parts
}

const foldedParts = (character: string): Folded[] =>
  [...character.normalize('NFKD')]
    .filter((part) => !isIgnored(part))
    .flatMap((part) => [...foldedLetter(part.toLowerCase())])
    .join('')
    // Composes the parts of a Korean syllable.
    .normalize('NFC')
    .match(/./gsu)
    ?.map((text) => ({ text, kind: kindOf(text) })) ?? []

/** Vowel signs of Indic and similar scripts are letters. In these scripts marks are accents, or vowels that most writers omit. */
const letterMark =
  /[[\p{M}&&\p{Alphabetic}]--[\p{scx=Latin}\p{scx=Greek}\p{scx=Cyrillic}\p{scx=Arabic}\p{scx=Hebrew}\p{scx=Syriac}\p{Script=Inherited}]]/v
const invisible = /[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}ـ]/u
/** A zero width space marks the end of a word, unlike a zero width joiner or a soft hyphen. */
const isIgnored = (part: string) => invisible.test(part) && !letterMark.test(part) && part !== '\u200b'

const dense =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u

/** The apostrophes among the letters, U+02BB and U+02BC, separate words like every other apostrophe. */
function kindOf(text: string): Kind {
  if (/[ʻʼ]/.test(text) || !(/[\p{L}\p{N}]/u.test(text) || letterMark.test(text))) return 'separator'
  return dense.test(text) ? 'dense' : 'plain'
}

/** Letters that Unicode does not decompose, as in the rules of Postgres' unaccent, and the final sigma. */
const letters = new Map(
  [...'ßæœøđðþłħıȷĸŋŧƀɓɖɗɨɫƚɲƶʉəς'].map((letter, n) => [
    letter,
    'ss ae oe o d d th l h i j q n t b b d d i l l n z u e σ'.split(' ')[n]!,
  ]),
)
const foldedLetter = (letter: string) => letters.get(letter) ?? asciiDigit(letter)

/** Decimal digits of every script are consecutive, from 0 to 9. */
function asciiDigit(text: string): string {
  if (!/\p{Nd}/u.test(text)) return text
  const code = text.codePointAt(0)!
  let first = code
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--
  return String((code - first) % 10)
}
