import fc from 'fast-check'
import {
  contentTypes,
  fieldNames,
  headerNames,
  headerTexts,
  hostileBodies,
  hostileTexts,
  queries,
  queryNames,
  validTexts,
} from './hostile-texts.ts'

const aText = fc.oneof(
  fc.constantFrom(...validTexts),
  fc.constantFrom(...hostileTexts),
  fc.string({ unit: 'binary', maxLength: 60 }),
)
const aNumber = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(0, -0, 1e308, 2 ** 53, -1, 0.1))
const aValue = fc.oneof(
  { weight: 5, arbitrary: aText },
  { weight: 1, arbitrary: fc.oneof(aNumber, fc.boolean(), fc.constant(null), fc.jsonValue({ maxDepth: 4 })) },
)

/** A body on its way: mostly `right` with some of its fields wrong, else any JSON or one of the hostile ones. */
export const arbitraryBody = (right: object) =>
  fc.oneof(
    { weight: 6, arbitrary: withWrong(right, 1) },
    { weight: 2, arbitrary: withWrong(right, 8) },
    { weight: 1, arbitrary: fc.json() },
    { weight: 1, arbitrary: fc.constantFrom(...hostileBodies) },
  )

const withWrong = (right: object, most: number) =>
  fc
    .dictionary(fc.constantFrom(...fieldNames, ...Object.keys(right)), aValue, { maxKeys: most })
    .map((wrong) => written(new Map([...Object.entries(right), ...Object.entries(wrong)])))

/** JSON.stringify that keeps an own `__proto__` and lets a field named `toJSON` be. */
function written(fields: Map<string, unknown>): string {
  return `{${[...fields].map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join()}}`
}

const aPair = fc
  .tuple(fc.constantFrom(...queryNames), aText)
  .map(([name, text]) => `${name}=${escaped(text)}`)
export const arbitraryQuery = fc.oneof(
  { weight: 2, arbitrary: fc.constant('') },
  { weight: 3, arbitrary: fc.array(aPair, { maxLength: 4 }).map((pairs) => `?${pairs.join('&')}`) },
  { weight: 1, arbitrary: fc.constantFrom(...queries) },
)

const aHeader = fc.oneof(
  fc.constantFrom(...headerTexts),
  fc.string({ maxLength: 300 }).map((text) => text.trim()),
)
const anOddBody = {
  'content-type': fc.constantFrom(...contentTypes),
  'content-length': fc.constantFrom('0', '5', '-1', '99999999999', 'x'),
  'x-http-method-override': fc.constant('DELETE'),
}

export const arbitraryHeaders = fc.oneof(
  { weight: 4, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.record(anOddBody, { requiredKeys: [] }) },
  { weight: 2, arbitrary: fc.dictionary(fc.constantFrom(...headerNames), aHeader, { maxKeys: 3 }) },
)

/** Something in the place of an id, escaped so that it stays inside its part of the path. */
export const arbitraryId = fc.oneof(aText.map(unlikely), fc.constantFrom('%', '%zz', '%ff', '%00', '%e0%80'))

/** Nothing, and the dots that a URL resolves, would make it another path. */
function unlikely(text: string): string {
  return /^\.{0,2}$/.test(text) ? '%20' : escaped(text)
}

function escaped(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}
