import fc from 'fast-check'
import { ImportError } from '../../../modules/imports/items.ts'
import { readers } from '../../../modules/imports/sources.ts'
import { cases } from '../../kit.ts'
import { reading, tasksOf } from './reading.ts'

const MiB = 1024 * 1024
const utf8 = (value: string) => new TextEncoder().encode(value)
const utf16le = (value: string) => new Uint8Array(Buffer.from(value, 'utf16le'))
const utf16be = (value: string) => new Uint8Array(Buffer.from(value, 'utf16le').swap16())
const errorOf = (file: string | Uint8Array, partBytes: number) =>
  reading(readers.csv, file, { partBytes }).catch((error: unknown) => error)

/** Reads an endless file: `start`, and then `part` repeatedly. Returns the error and the bytes read. */
async function readEndless(start: string, part: string) {
  const parts = utf8(part.repeat(Math.ceil((64 * 1024) / part.length)))
  let bytes = 0
  async function* open() {
    yield utf8(start)
    for (; bytes < 256 * MiB; bytes += parts.length) yield parts
  }
  const items = readers.csv({ open, mapping: {}, propose: () => {}, report: () => {} })
  const error = await Array.fromAsync(items).catch((failure: unknown) => failure)
  return { error, bytes }
}

const tooLarge = 'A row must have at most 2000 columns and 4194304 characters'
const tooEmpty = 'The file has more than 1000000 empty lines'
test.each([
  ['a header with 10 million columns', '', 'title,', tooLarge],
  ['a row with 10 million columns', 'title\n', ',', tooLarge],
  ['a cell that is never closed', 'title\na\n"', 'x', tooLarge],
  ['quotes within a cell that is never closed', 'title\na\n"', '""', tooLarge],
  ['a line that never ends', 'title\n', 'x', tooLarge],
  ['a line of separators in quotes', 'title\n', '",",', tooLarge],
  ['millions of empty lines', 'title\na\n', '\n', tooEmpty],
  ['millions of empty lines with CRLF', 'title\na\n', '\r\n', tooEmpty],
  ['millions of empty lines in place of a header', '', '\n', tooEmpty],
])('rejects %s after a few MiB', async (_, start, part, message) => {
  const { error, bytes } = await readEndless(start, part)
  expect(error).toBeInstanceOf(ImportError)
  expect((error as Error).message).toStartWith(message)
  // The reader tries four separators, and then reads the rows.
  expect(bytes).toBeLessThan(16 * MiB)
})

const isOpen = 'The quote at the start of a cell is never closed. The file may be cut off'
const isSingle = 'A quote within a quoted cell must be doubled'
const hasNoTitle = 'No column is the title. Send mapping.columns, such as'
const isNoText = 'The file is not UTF-8 text. Save it again in UTF-8'
const isNoUtf16 = 'The file is not UTF-16 text. Save it again in UTF-8'
const hasNul = 'The file contains the character U+0000: remove it'
const after = (text: Uint8Array, ...bytes: number[]) => new Uint8Array([...text, ...bytes])
const rows = 'title\nä\nb\n'

test.each<[file: string | Uint8Array, message: string]>([
  ['', 'The file is empty'],
  ['\n\n\r\n', 'The file is empty'],
  ['\ufeff', 'The file is empty'],
  ['<html><body>Log in</body></html>', hasNoTitle],
  ['{"a":1}\n', `${hasNoTitle} {"{\\"a\\":1}": "title"}`],
  ['"Werk";"a"\n"x";"y"\n', `${hasNoTitle} {"Werk": "title"}`],
  ['title,a\r\nx,"y\r\nz"\r\nx,"cut', `${isOpen} (line 4)`],
  ['title\n"a\nb\nc', `${isOpen} (line 2)`],
  ['"title";"a"\n"x";"y"\n"x";"cut', `${isOpen} (line 3)`],
  ['title\n5" pipe\n"c', `${isOpen} (line 3)`],
  ['title,a\nx,"y" z\n', `${isSingle} (line 2)`],
  ['title\n"a\r\nb"\n"c"d\n', `${isSingle} (line 4)`],
  [after(utf8(rows), 0x52, 0xe4, 0x64, 0x65, 0x72, 10), `${isNoText} (line 4)`],
  [after(utf8(rows), 0xe2, 0x82), `${isNoText} (line 4)`],
  [new Uint8Array([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]), `${isNoText} (line 1)`],
  [after(utf16le(rows), 0, 0xd8, 10, 0), `${isNoUtf16} (line 4)`],
  [after(utf16le(rows), 0x61), `${isNoUtf16} (line 4)`],
  [after(utf8(rows), 0x61, 0, 10, 0x62, 10), `${hasNul} (line 4)`],
])('rejects %p', async (file, message) => {
  for (const partBytes of [1, 3, 7, 1_000]) {
    const error = await errorOf(file, partBytes)
    expect(error).toBeInstanceOf(ImportError)
    expect((error as Error).message).toStartWith(message)
  }
})

test('cuts a cell at 100,000 characters without splitting a character', async () => {
  const long = `${'x'.repeat(99_999)}🎉${'y'.repeat(50_000)}`
  const { items } = await reading(readers.csv, `title,description\na,${long}\n`, { partBytes: 65_536 })
  const messages = ['A cell was cut at 100000 characters']
  expect(items).toMatchObject([{ description: 'x'.repeat(99_999), messages }])
})

/** Texts with characters that a CSV file must quote. The brackets keep the reader from changing them. */
const cell = fc
  .string({ unit: fc.constantFrom(...' ,;|\t"\n\r=\'aä🎉,"'), maxLength: 12 })
  .map((part) => `<${part}>`)
const quote = (value: string) => `"${value.replaceAll('"', '""')}"`

test('reads quoted cells in every encoding, in parts of any size', () => {
  const file = fc.record({
    rows: fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 5 }),
    separator: fc.constantFrom(',', ';', '\t', '|'),
    end: fc.constantFrom('\n', '\r\n', '\r'),
    mark: fc.constantFrom('', '\ufeff'),
    partBytes: fc.integer({ min: 1, max: 40 }),
    encode: fc.constantFrom(utf8, utf16le, utf16be),
  })
  const check = fc.asyncProperty(file, async ({ rows, separator, end, mark, partBytes, encode }) => {
    const lines = [['id', 'title', 'description'], ...rows.map((cells, i) => [`${i}`, ...cells])]
    const csv = lines.map((cells) => cells.map(quote).join(separator)).join(end)
    const read = await reading(readers.csv, encode(mark + csv), { partBytes })
    expect(tasksOf(read).map(({ description }) => description)).toEqual(rows.map(([, text]) => text))
  })
  return fc.assert(check, { numRuns: cases(150) })
})
