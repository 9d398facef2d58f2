import { isText, nameFrom } from '../../../src/schema/input.ts'
import type { ImportedItem } from '../items.ts'

const replacement = '\ufffd'
/** Matches each escape of a JSON text. Those of U+0000 and of lone surrogates, which Postgres cannot store, are a group. */
const escapes = /\\(?:(u0000|ud[89a-f]..)|.)/g
const maybeUnstorable = /\\u(?:0000|d[89a-f])/

const storableJson = (json: string): string =>
  maybeUnstorable.test(json)
    ? json.replace(escapes, (escape, unstorable) => (unstorable ? replacement : escape))
    : json

export const storableValue = <T>(value: T): T => JSON.parse(storableJson(JSON.stringify(value)))

/** Replaces the characters that Postgres cannot store. Returns the item with its JSON. */
export function storable<Item extends ImportedItem>(given: Item): { item: Item; json: string } {
  const json = JSON.stringify(given)
  const cleaned = storableJson(json)
  if (cleaned === json) return { item: given, json }
  const item = JSON.parse(cleaned) as Item & { messages?: string[] }
  const message = `Characters that Docket cannot store were replaced by ${replacement}`
  item.messages = [...(item.messages ?? []), message]
  return { item, json: JSON.stringify(item) }
}

/** @param max characters, as code points. Does not split a character. */
export const cut = (text: string, max: number): string =>
  text.length <= max
    ? text
    : Array.from(text.slice(0, 2 * max))
        .slice(0, max)
        .join('')

export const isBlank = (text: string | undefined): boolean =>
  !text || !isText(text, { minLength: 1, maxLength: Number.MAX_SAFE_INTEGER })

/** Returns a name without control characters that has at most `max` characters; undefined for a blank name. */
export function nameIn(text: string, max: number): string | undefined {
  const name = cut(nameFrom(text), max).trim()
  return isBlank(name) ? undefined : name
}

/** Returns a text in lower case without accents, because people omit accents. */
export const withoutAccents = (text: string): string =>
  (/[^\0-\x7f]/.test(text) ? text.normalize('NFKD').replace(/\p{M}/gu, '') : text).toLowerCase()

/** Removes the ending of a longer word, such as `cerradas`, `terminée` and `offene`. */
const withoutEnding = (word: string): string =>
  word.length < 6 || word.length > 60 ? word : word.replace(/[aeos]+$/, '')

/**
 * Returns a function from a word, with or without accents, to the name of its list.
 * @param lists words, separated by commas
 * @param isInflected true if words may have other endings, such as the feminine and the plural
 */
export function byWord<Name extends string>(lists: Record<Name, string>, isInflected = false) {
  const formOf = (word: string) => (isInflected ? withoutEnding(withoutAccents(word)) : withoutAccents(word))
  const names = new Map(
    (Object.entries(lists) as [Name, string][]).flatMap(([name, words]) =>
      words.split(',').map((word) => [formOf(word.trim()), name] as const),
    ),
  )
  return (word: string): Name | undefined => names.get(formOf(word))
}
