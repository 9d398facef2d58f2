import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { ImportError } from '../../../modules/imports/items.ts'
import { readCsv } from '../../../modules/imports/readers/csv-sources/csv.ts'
import { cases } from '../../support/depth.ts'
import { reading, tasksOf } from './reading.ts'

const mark = '\ufeff'
const text = 'title,description\r\nDie Räder ölen,"日本語 🎉\nzwei"\r\n'
const utf8 = (value: string) => new TextEncoder().encode(value)
const utf16le = (value: string) => new Uint8Array(Buffer.from(value, 'utf16le'))
const utf16be = (value: string) => new Uint8Array(Buffer.from(value, 'utf16le').swap16())

test.each([
  ['UTF-8', utf8(text)],
  ['UTF-8 with a mark', utf8(mark + text)],
  ['UTF-16LE', utf16le(text)],
  ['UTF-16LE with a mark', utf16le(mark + text)],
  ['UTF-16BE', utf16be(text)],
  ['UTF-16BE with a mark', utf16be(mark + text)],
])('reads %s in parts of any size', async (_, file) => {
  for (const partBytes of [1, 2, 3, 5, file.length]) {
    const read = await reading(readCsv, file, { partBytes })
    expect(tasksOf(read)).toMatchObject([{ title: 'Die Räder ölen', description: '日本語 🎉\nzwei' }])
  }
})

const bytesAfter = (lines: string, ...bytes: number[]) => new Uint8Array([...utf8(lines), ...bytes])
const rows = 'title\nä\nb\n'
test.each([
  ['Latin 1', bytesAfter(rows, 0x52, 0xe4, 0x64, 0x65, 0x72, 10), 'UTF-8', 4],
  ['a character that is cut off', bytesAfter(rows, 0xe2, 0x82), 'UTF-8', 4],
  ['a surrogate without the other', new Uint8Array([...utf16le(rows), 0, 0xd8, 10, 0]), 'UTF-16', 4],
  ['half a character of UTF-16', new Uint8Array([...utf16le(rows), 0x61]), 'UTF-16', 4],
  ['an archive', new Uint8Array([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]), 'UTF-8', 1],
])('rejects %s with its line', async (_, file, encoding, line) => {
  for (const partBytes of [1, 3, 8, file.length]) {
    const message = await reading(readCsv, file, { partBytes }).catch((error: Error) => error.message)
    expect(message).toStartWith(`The file is not ${encoding} text.`)
    expect(message).toEndWith(`(line ${line})`)
  }
})

test('names U+0000 as the reason, with its line', async () => {
  const file = bytesAfter('title\na\n', 0x61, 0, 10, 0x62, 10)
  for (const partBytes of [1, 3, 8, file.length])
    await expect(reading(readCsv, file, { partBytes })).rejects.toThrow(
      new ImportError('The file contains the character U+0000: remove it (line 3)'),
    )
})

/** Texts with characters that a CSV file must quote. The brackets keep the reader from changing them. */
const cell = fc
  .string({ unit: fc.constantFrom(...' ,;|\t"\n\r=\'aä🎉,"'), maxLength: 12 })
  .map((part) => `<${part}>`)
const quote = (value: string) => `"${value.replaceAll('"', '""')}"`

test('reads quoted cells of other programs', () => {
  const file = fc.record({
    rows: fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 5 }),
    separator: fc.constantFrom(',', ';', '\t', '|'),
    end: fc.constantFrom('\n', '\r\n', '\r'),
    partBytes: fc.integer({ min: 1, max: 40 }),
    encode: fc.constantFrom(utf8, utf16le, utf16be),
  })
  return fc.assert(
    fc.asyncProperty(file, async ({ rows, separator, end, partBytes, encode }) => {
      const lines = [['id', 'title', 'description'], ...rows.map((cells, i) => [`${i}`, ...cells])]
      const csv = lines.map((cells) => cells.map(quote).join(separator)).join(end)
      const mapping = { columns: { title: 'title', description: 'description' } }
      const read = await reading(readCsv, encode(csv), { partBytes, mapping })
      expect(tasksOf(read).map(({ description }) => description)).toEqual(rows.map(([, text]) => text))
    }),
    { numRuns: cases(150) },
  )
})
