import type { FieldRow } from '../../drizzle/rows.ts'
import { changedValues, maxValues } from '../../modules/fields/values.ts'

const fieldOf = (key: string, type: FieldRow['type'], options: string[] | null = null): FieldRow => ({
  ...{ id: key, projectId: 'p', key, name: key, type, options, createdAt: 'now', eventId: 'e' },
})
const stateOf = (...fields: FieldRow[]) => ({ all: () => fields })
const all = stateOf(
  ...[fieldOf('t', 'text'), fieldOf('num', 'number'), fieldOf('on', 'boolean'), fieldOf('at', 'date')],
  ...[fieldOf('size', 'choice', ['small', 'large']), fieldOf('constructor', 'text')],
)

const wrong: [key: string, value: unknown, expected: string][] = [
  ['t', 1, 'a text of at most 2000 characters'],
  ['t', 'x'.repeat(2_001), 'a text of at most 2000 characters'],
  ['t', 'a\0b', 'a text of at most 2000 characters'],
  ['num', '1', 'a number'],
  ['num', Number.POSITIVE_INFINITY, 'a number'],
  ['on', 'true', 'true or false'],
  ['at', '2027-02-29', 'a date: YYYY-MM-DD'],
  ['at', '2027-02-01T10:00:00Z', 'a date: YYYY-MM-DD'],
  ['size', 'Small', 'one of the options of the field'],
  ['size', ['small'], 'one of the options of the field'],
  ['t', {}, 'a text of at most 2000 characters'],
  ...(['toString', '__proto__', 'x'.repeat(40)].map((key) => [
    key,
    1,
    'the key of a field of the project',
  ]) as never[]),
]
test.each(wrong)('for the field %s, rejects the value %p', (key, value, expected) => {
  const change = JSON.parse(`{${JSON.stringify(key)}:0}`)
  change[key] = value
  expect(() => changedValues(all, null, Object.defineProperty(change, key, { value }))).toThrow(
    `fields.${key} must be ${expected}`,
  )
})

test('values of deleted fields are kept, and dropped first if there are too many', () => {
  const fields = Array.from({ length: maxValues }, (_, n) => fieldOf(`k${n}`, 'number'))
  const old = { gone: 1, ...Object.fromEntries(fields.slice(1).map(({ key }) => [key, 2])) }
  expect(changedValues(stateOf(...fields), old, { k1: 3 })).toHaveProperty('gone', 1)
  const full = changedValues(stateOf(...fields), old, { k0: 3 })!
  expect(Object.keys(full)).toHaveLength(maxValues)
  expect(full).not.toHaveProperty('gone')
})

test('all values together have at most 20,000 characters', () => {
  const texts = Array.from({ length: 11 }, (_, n) => fieldOf(`k${n}`, 'text'))
  const long = Object.fromEntries(texts.map(({ key }) => [key, 'x'.repeat(2_000)]))
  expect(() => changedValues(stateOf(...texts), null, long)).toThrow('at most 20000 characters')
})
