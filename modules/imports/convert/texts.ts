import { isText, nameFrom } from '../../../src/schema/text.ts'
import type { ImportedItem } from '../items.ts'

const replacement = '\ufffd'
/** Matches U+0000 and lone surrogates as `JSON.stringify` writes them. May also match other text. */
const maybeUnstorable = /\\u0000|\\ud[89a-f]/

/** Replaces the characters that Postgres cannot store. Returns the item with its JSON. */
export function storable<Item extends ImportedItem>(item: Item): { item: Item; json: string } {
  const json = JSON.stringify(item)
  const cleaned = maybeUnstorable.test(json) ? storableValue(item) : item
  if (cleaned === item || JSON.stringify(cleaned) === json) return { item, json }
  const messages = 'messages' in cleaned ? (cleaned.messages ?? []) : []
  const message = `Characters that Docket cannot store were replaced by ${replacement}`
  const noted = { ...cleaned, messages: [...messages, message] }
  return { item: noted, json: JSON.stringify(noted) }
}

export const storableValue = <T>(value: T): T => replaceIn(value) as T

const replaceInText = (text: string): string => text.replaceAll('\0', replacement).toWellFormed()

function replaceIn(value: unknown): unknown {
  if (typeof value === 'string') return replaceInText(value)
  if (Array.isArray(value)) return value.map(replaceIn)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [replaceInText(key), replaceIn(one)]))
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
 * @param isInflected true if words may have other endings, such as those of the feminine and the plural
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
