import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { readEntries } from '../../../modules/imports/readers/json/json-file.ts'
import { cases } from '../../support/depth.ts'

const open = (text: string, partBytes: number) =>
  async function* () {
    const bytes = new TextEncoder().encode(text)
    for (let at = 0; at < bytes.length; at += partBytes) yield bytes.subarray(at, at + partBytes)
  }

async function valuesOf(text: string, parts: string[], partBytes = 5, omit: string[] = []) {
  const entries = readEntries(open(text, partBytes), parts, omit)
  return (await Array.fromAsync(entries)).map(({ part, path, value }) => ({ part, path, value }))
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
  const objects = fc.array(value.object, { maxLength: 5 })
  const property = fc.asyncProperty(
    objects,
    fc.integer({ min: 1, max: 40 }),
    fc.constantFrom(0, 2),
    async (list, partBytes, indent) => {
      const text = JSON.stringify(list, null, indent)
      const read = await valuesOf(text, ['*'], partBytes)
      expect(read).toEqual(
        (JSON.parse(text) as object[]).map((one, n) => ({ part: '*', path: [n], value: one })) as typeof read,
      )
    },
  )
  await fc.assert(property, { numRuns: cases(200) })
})

test('returns the wanted parts with their path, with null for omitted values, and skips the rest', async () => {
  const text =
    '{"a":{"x":{"b":[{"c":1,"skip":[{}],"d":{"skip":1,"e":2}}]},"y":{"b":[]}},"z":[[{"b":1}]],"b":[{"c":2}]}'
  expect(await valuesOf(text, ['a.*.b.*', 'b.*'], 5, ['skip'])).toEqual([
    { part: 'a.*.b.*', path: ['a', 'x', 'b', 0], value: { c: 1, skip: null, d: { skip: null, e: 2 } } },
    { part: 'b.*', path: ['b', 0], value: { c: 2 } },
  ])
})

test('does not return parts inside an omitted list', async () => {
  const read = await valuesOf('{"skip":[{"a":1}],"b":[{"skip":{"c":1}}]}', ['', '*', '*.*'], 5, ['skip'])
  expect(read).toEqual([{ part: '', path: [], value: { skip: null, b: [{ skip: null }] } }])
})

test('reads several documents, one after the other', async () => {
  expect(await valuesOf('[{"a":1}]\n[{"a":2},{"a":3}]{"a":4}', ['', '*'])).toEqual([
    { part: '*', path: [0], value: { a: 1 } },
    { part: '*', path: [0], value: { a: 2 } },
    { part: '*', path: [1], value: { a: 3 } },
    { part: '', path: [], value: { a: 4 } },
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
