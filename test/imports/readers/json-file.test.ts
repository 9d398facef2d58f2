import fc from 'fast-check'
import { readEntries } from '../../../modules/imports/readers/json/json-file.ts'
import { cases } from '../../kit.ts'

async function valuesOf(text: string, patterns: string[], omit: string[] = [], partBytes = 5) {
  const bytes = new TextEncoder().encode(text)
  async function* open() {
    for (let at = 0; at < bytes.length; at += partBytes) yield bytes.subarray(at, at + partBytes)
  }
  const entries = await Array.fromAsync(readEntries(open, patterns, omit))
  return entries.map(({ part, path, value }) => ({ part, path, value }))
}

/** Texts with escapes, quotes, other scripts, and pairs of surrogates. */
const key = fc.string({ unit: 'grapheme' }).filter((text) => text !== '__proto__')
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('any'), { maxLength: 4 }),
  object: fc.dictionary(key, tie('any'), { maxKeys: 4 }),
}))

test('reads the same values as JSON.parse, however the file is cut into parts', async () => {
  const objects = fc.array(value.object as fc.Arbitrary<object>, { maxLength: 5 })
  const bytes = fc.integer({ min: 1, max: 40 })
  const property = fc.asyncProperty(
    objects,
    bytes,
    fc.constantFrom(0, 2),
    async (list, partBytes, indent) => {
      const read = await valuesOf(JSON.stringify(list, null, indent), ['*'], [], partBytes)
      // JSON has no negative zero.
      const values = JSON.parse(JSON.stringify(list)) as object[]
      expect(read as object[]).toEqual(values.map((one, n) => ({ part: '*', path: [n], value: one })))
    },
  )
  await fc.assert(property, { numRuns: cases(200) })
})

type Read = [part: string, path: (string | number)[], value: object]
const readOf = async (text: string, patterns: string[]): Promise<Read[]> =>
  (await valuesOf(text, patterns, ['skip'])).map((one) => [one.part, one.path, one.value])

test('reads the wanted parts, with null for omitted values, and nothing inside these', async () => {
  const b = '[{"c":1,"skip":[{}],"d":{"skip":1,"e":2}}]'
  const text = `{"a":{"x":{"b":${b}},"y":{"b":[]}},"z":[[{"b":1}]],"b":[{"c":2}]}`
  expect(await readOf(text, ['a.*.b.*', 'b.*'])).toEqual([
    ['a.*.b.*', ['a', 'x', 'b', 0], { c: 1, skip: null, d: { skip: null, e: 2 } }],
    ['b.*', ['b', 0], { c: 2 }],
  ])
  const whole: Read = ['', [], { skip: null, b: [{ skip: null }] }]
  expect(await readOf('{"skip":[{"a":1}],"b":[{"skip":{"c":1}}]}', ['', '*', '*.*'])).toEqual([whole])
})

test('reads several documents, texts at the end of a pattern, and keys in place of a wildcard', async () => {
  expect(await readOf('[{"a":1}]\n[{"a":2},{"a":3}]{"a":4}', ['', '*'])).toEqual([
    ...[1, 2, 3].map((n): Read => ['*', [n === 3 ? 1 : 0], { a: n }]),
    ['', [], { a: 4 }],
  ])
  const text = '{"desc":"x","a":[{"desc":"y"}],"b":[{"c":1}],"d":5}'
  expect(await readOf(text, ['desc', 'a.*', '*'])).toEqual([
    ['desc', ['desc'], { desc: 'x' }],
    ['a.*', ['a', 0], { desc: 'y' }],
  ])
})

test('reads keys that are properties of every object', async () => {
  const text = '[{"constructor":1,"toString":"a","hasOwnProperty":null,"__proto__":{"polluted":1}}]'
  const [entry] = await valuesOf(text, ['*'])
  expect(Object.entries(entry!.value)).toEqual([
    ['constructor', 1],
    ['toString', 'a'],
    ['hasOwnProperty', null],
    ['__proto__', { polluted: 1 }],
  ])
  expect('polluted' in entry!.value).toBe(false)
})
