import { expect, test } from 'bun:test'
import { ImportError } from '../../../modules/imports/items.ts'
import { readCsv } from '../../../modules/imports/readers/csv-sources/csv.ts'

const MiB = 1024 * 1024
const partBytes = 64 * 1024

/** Reads an endless file: `start`, and then `part` repeatedly. Returns the error and the bytes read. */
async function readEndless(start: string, part: string) {
  const parts = new TextEncoder().encode(part.repeat(Math.ceil(partBytes / part.length)))
  let bytes = 0
  async function* open() {
    yield new TextEncoder().encode(start)
    for (; bytes < 256 * MiB; bytes += parts.length) yield parts
  }
  const items = readCsv({ open, mapping: {}, propose: () => {}, report: () => {} })
  const error = await (async () => {
    for await (const item of items) if (item.row > 1_000_000) return 'endless'
  })().catch((failure: unknown) => failure)
  return { error, bytes }
}

test.each([
  ['a header with 10 million columns', '', 'title,'],
  ['a row with 10 million columns', 'title\n', ','],
  ['a cell that is never closed', 'title\na\n"', 'x'],
  ['quotes within a cell that is never closed', 'title\na\n"', '""'],
  ['a line that never ends', 'title\n', 'x'],
  ['a line of separators in quotes', 'title\n', '",",'],
])('rejects %s after a few MiB', async (_, start, part) => {
  const { error, bytes } = await readEndless(start, part)
  expect(error).toBeInstanceOf(ImportError)
  expect((error as Error).message).toMatch(/^A row must have at most 2000 columns and 4194304 characters/)
  // The reader tries four separators, then reads the rows, and then the line of the error.
  expect(bytes).toBeLessThan(16 * MiB)
})

test.each([
  ['below the header', 'title\na\n', '\n'],
  ['below the header, with CRLF', 'title\na\n', '\r\n'],
  ['in place of a header', '', '\n'],
])('rejects a file with millions of empty lines %s', async (_, start, part) => {
  const { error, bytes } = await readEndless(start, part)
  expect(error).toEqual(new ImportError('The file has more than 1000000 empty lines'))
  expect(bytes).toBeLessThan(16 * MiB)
})

const errorOf = async (file: string, size = 7) => {
  const bytes = new TextEncoder().encode(file)
  async function* open() {
    for (let i = 0; i < bytes.length; i += size) yield bytes.subarray(i, i + size)
  }
  try {
    for await (const _ of readCsv({
      open,
      mapping: {},
      propose: () => {},
      report: () => {},
    }));
  } catch (error) {
    return (error as Error).message
  }
}

test.each([
  ['', 'The file is empty'],
  ['\n\n\r\n', 'The file is empty'],
  ['\ufeff', 'The file is empty'],
  ['<html><body>Log in</body></html>', 'No column is the title. Send mapping.columns'],
  [
    'title,a\r\nx,"y\r\nz"\r\nx,"cut',
    'The quote at the start of a cell is never closed. The file may be cut off (line 4)',
  ],
  ['title\n"a\nb\nc', 'The quote at the start of a cell is never closed. The file may be cut off (line 2)'],
  [
    '"title";"a"\n"x";"y"\n"x";"cut',
    'The quote at the start of a cell is never closed. The file may be cut off (line 3)',
  ],
  ['{"a":1}\n', 'No column is the title. Send mapping.columns, such as {"{\\"a\\":1}": "title"}'],
  ['"Aufgabe";"a"\n"x";"y"\n', 'No column is the title. Send mapping.columns, such as {"Aufgabe": "title"}'],
  ['title,a\nx,"y" z\n', 'A quote within a quoted cell must be doubled (line 2)'],
  ['title\n"a\r\nb"\n"c"d\n', 'A quote within a quoted cell must be doubled (line 4)'],
  [
    'title\n5" pipe\n"c',
    'The quote at the start of a cell is never closed. The file may be cut off (line 3)',
  ],
])('rejects %j', async (file, message) => {
  for (const size of [1, 7, 1_000]) expect(await errorOf(file, size)).toStartWith(message)
})

test('cuts a cell at 100,000 characters without splitting a character', async () => {
  const long = `${'x'.repeat(99_999)}🎉${'y'.repeat(50_000)}`
  const bytes = new TextEncoder().encode(`title,description\na,${long}\n`)
  const items = await Array.fromAsync(
    readCsv({
      open: async function* () {
        yield bytes
      },
      mapping: {},
      propose: () => {},
      report: () => {},
    }),
  )
  expect(items).toMatchObject([
    { description: 'x'.repeat(99_999), messages: ['A cell was cut at 100000 characters'] },
  ])
})
