// Lists travel as array literals.
const element = /"((?:[^"\\]|\\.)*)"|[^,{}]+/g
const elementsOf = (text: string): string[] =>
  Array.from(text.matchAll(element), ([whole, inQuotes]) => inQuotes?.replace(/\\(.)/g, '$1') ?? whole)
const listOf = <T>(oid: number, literal: (items: T[]) => string, elementOf: (text: string) => T) => ({
  to: oid,
  from: [oid],
  serialize: (items: T[]) => `{${literal(items)}}`,
  parse: (text: string) => elementsOf(text).map(elementOf),
})

/** Tested together, because one by one takes a tenth of a batched read. */
const ids = /^[\da-f,-]*$/
const uuids = (items: string[]): string => {
  const joined = items.join()
  return ids.test(joined) ? joined : texts(items)
}
const plain = /^(?!null$)[\w-]+$/i
const quoted = (item: string) => (plain.test(item) ? item : `"${item.replace(/["\\]/g, '\\$&')}"`)
const texts = (items: string[]): string => items.map(quoted).join()

export const lists = {
  uuids: listOf(2951, uuids, String),
  texts: listOf(1009, texts, String),
  bigints: listOf(1016, (items: number[]) => items.join(), Number),
}

/** From `2027-01-31 17:00:00.5+00`. Date would read the year 50 as 1950. */
export function isoInstant(text: string): string {
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).slice(0, 3).padEnd(3, '0')}Z`
}
