const element = /"((?:[^"\\]|\\.)*)"|[^,{}]+/g
const elementsOf = (text: string): string[] =>
  Array.from(text.matchAll(element), ([whole, inQuotes]) => inQuotes?.replace(/\\(.)/g, '$1') ?? whole)
const arrayType = <T>(oid: number, literal: (items: T[]) => string, elementOf: (text: string) => T) => ({
  to: oid,
  from: [oid],
  serialize: (items: T[]) => `{${literal(items)}}`,
  parse: (text: string) => elementsOf(text).map(elementOf),
})

/** Tests the joined ids: a test of each id took a tenth of the time of a shared read. */
const ids = /^[\da-f,-]*$/
const uuids = (items: string[]): string => {
  const joined = items.join()
  return ids.test(joined) ? joined : texts(items)
}
const plain = /^(?!null$)[\w-]+$/i
const quoted = (item: string) => (plain.test(item) ? item : `"${item.replace(/["\\]/g, '\\$&')}"`)
const texts = (items: string[]): string => items.map(quoted).join()

export const arrayTypes = {
  uuids: arrayType(2951, uuids, String),
  texts: arrayType(1009, texts, String),
  bigints: arrayType(1016, (items: number[]) => items.join(), Number),
}

/** Converts `2027-01-31 17:00:00.5+00` to ISO 8601. `Date` would parse the year 50 as 1950. */
export function isoInstant(text: string): string {
  if (text.length === 26) return `${text.slice(0, 10)}T${text.slice(11, 23)}Z`
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).slice(0, 3).padEnd(3, '0')}Z`
}
