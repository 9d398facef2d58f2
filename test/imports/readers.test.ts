import '../../modules/modules.ts'
import fc from 'fast-check'
import { DateTime } from 'luxon'
import { ImportError, type ImportedItem } from '../../modules/imports/items.ts'
import type { Mapping } from '../../modules/imports/mapping.ts'
import { readers, type Source } from '../../modules/imports/sources.ts'
import { cases, sampleOf, upTo } from '../kit.ts'
import { caseName, fileOf, readCases, readEndless, samples, textOf } from './files.ts'

const million = 1_000_000
const utf8 = (text: string) => new TextEncoder().encode(text)
const utf16le = (text: string) => new Uint8Array(Buffer.from(text, 'utf16le'))
const utf16be = (text: string) => new Uint8Array(Buffer.from(text, 'utf16le').swap16())

interface Options {
  source?: Source
  mapping?: Mapping
  /** The file arrives in parts of this size, which begin within characters and lines. */
  partBytes?: number
}

/** Returns the items of a file and the lines about the whole file, or the error that rejects the file. */
async function read(
  file: string | Uint8Array | (() => Iterable<string>),
  { source = 'csv', mapping = {}, partBytes = 4_096 }: Options = {},
) {
  let bytesRead = 0
  async function* open() {
    for (const text of typeof file === 'function' ? file() : [file]) {
      const bytes = typeof text === 'string' ? utf8(text) : text
      const size = typeof file === 'function' ? bytes.length : partBytes
      for (let at = 0; at < bytes.length; at += size) {
        const part = bytes.subarray(at, at + size)
        bytesRead += part.length
        yield part
      }
    }
  }
  const messages: string[] = []
  const input = { open, mapping, propose: () => {}, report: (message: string) => void messages.push(message) }
  const items: ImportedItem[] = []
  try {
    for await (const item of readers[source](input)) items.push(item)
  } catch (error) {
    if (!(error instanceof ImportError)) throw error
    return { items: [], messages, error: error.message, bytesRead }
  }
  return { items, messages, error: undefined, bytesRead }
}

const outcomeOf = async (...args: Parameters<typeof read>) => {
  const { bytesRead: _, ...outcome } = await read(...args)
  return outcome
}

const { rejected, ...accepted } = await readCases()

test.each(rejected.map((one) => [caseName(one), one] as const))('rejects %s', async (_, one) => {
  expect((await read(fileOf(one), one)).error).toBe(one.error)
})

test.each(Object.entries({ ...accepted, rejected }))(
  'reads files of %s in parts of any size',
  async (_, all) => {
    for (const [n, one] of sampleOf(all, 0).entries()) {
      const whole = await outcomeOf(fileOf(one), { ...one, partBytes: million })
      const partBytes = [1, 3, 7][n % 3]!
      expect([caseName(one), await outcomeOf(fileOf(one), { ...one, partBytes })]).toEqual([
        caseName(one),
        whole,
      ])
    }
  },
)

const isNoText = 'The file is not UTF-8 text. Save it again in UTF-8'
const isNoUtf16 = 'The file is not UTF-16 text. Save it again in UTF-8'
const hasNul = 'The file contains the character U+0000: remove it'
const after = (text: Uint8Array, ...bytes: number[]) => new Uint8Array([...text, ...bytes])
const rows = 'title\nä\nb\n'

test.each<[Source, file: Uint8Array, message: string]>([
  ['csv', after(utf8(rows), 0x52, 0xe4, 0x64, 0x65, 0x72, 10), `${isNoText} (line 4)`],
  ['csv', after(utf8(rows), 0xe2, 0x82), `${isNoText} (line 4)`],
  ['csv', new Uint8Array([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]), `${isNoText} (line 1)`],
  ['csv', after(utf16le(rows), 0, 0xd8, 10, 0), `${isNoUtf16} (line 4)`],
  ['csv', after(utf16le(rows), 0x61), `${isNoUtf16} (line 4)`],
  ['csv', after(utf8(rows), 0x61, 0, 10, 0x62, 10), `${hasNul} (line 4)`],
  ['trello', after(utf8('{"lists":[\n"'), 0xff), `${isNoText} (line 2)`],
  ['docket', new Uint8Array([123, 255]), `${isNoText} (line 1)`],
])('as %s, rejects bytes that are no text: %p', async (source, file, message) => {
  for (const partBytes of [1, 3, 1_000]) expect((await read(file, { source, partBytes })).error).toBe(message)
})

test.each(samples)(
  'reads $file in UTF-16, and rejects it if it is cut, and perhaps if a byte is wrong',
  async (sample) => {
    const { source, file, documents } = sample
    const text = (await textOf(file)).trimEnd()
    const whole = await outcomeOf(text, { source, partBytes: 7 })
    for (const bytes of [utf16le(`\ufeff${text}`), utf16be(`\ufeff${text}`), utf8(`\ufeff${text}`)])
      expect(await outcomeOf(bytes, { source, partBytes: 1_021 })).toEqual(whole)
    const bytes = Buffer.from(text)
    const cut = async (end: number) => {
      const { items, error } = await read(text.slice(0, end), { source })
      // A cut between two documents or rows leaves a shorter file.
      if (documents || file.endsWith('.csv')) expect(items.length).toBeLessThanOrEqual(whole.items.length + 1)
      else expect(error).toBeString()
    }
    const change = (at: number, byte: number) => {
      const changed = Buffer.from(bytes)
      changed[at] = byte
      return read(changed, { source })
    }
    const at = fc.nat(text.length - 1)
    await fc.assert(fc.asyncProperty(at, cut), { numRuns: cases(20) })
    const byte = fc.tuple(fc.nat(bytes.length - 1), fc.nat(255))
    await fc.assert(
      fc.asyncProperty(byte, async (one) => void (await change(...one))),
      { numRuns: cases(20) },
    )
  },
)

/** Texts with characters that a CSV file must quote. The brackets keep the reader from changing them. */
const cell = fc
  .string({ unit: fc.constantFrom(...' ,;|\t"\n\r=\'aä🎉,"'), maxLength: 12 })
  .map((part) => `<${part}>`)
const quote = (value: string) => `"${value.replaceAll('"', '""')}"`
const descriptionsIn = (items: ImportedItem[]) =>
  items.flatMap((item) => (item.kind === 'task' ? [item.description] : []))

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
    const { items } = await read(encode(mark + csv), { partBytes })
    expect(descriptionsIn(items)).toEqual(rows.map(([, text]) => text))
  })
  return fc.assert(check, { numRuns: cases(100) })
})

test('reads the texts of a JSON file as JSON.parse does', () => {
  const text = fc.string({ unit: 'grapheme' }).map((part) => `<${part}>`)
  const card = fc.record({ id: text, desc: text, unread: fc.jsonValue() })
  const file = fc.record({
    cards: fc.array(card, { maxLength: 5 }),
    prefs: fc.jsonValue(),
    partBytes: fc.integer({ min: 1, max: 40 }),
    indent: fc.constantFrom(0, 2),
  })
  const check = fc.asyncProperty(file, async ({ cards, prefs, partBytes, indent }) => {
    const board = { prefs, lists: [], cards: cards.map((one) => ({ name: 'a', ...one })) }
    const { items } = await read(JSON.stringify(board, null, indent), { source: 'trello', partBytes })
    expect(items.map((item) => item.kind === 'task' && [item.key, item.description])).toEqual(
      cards.map(({ id, desc }) => [id, desc]),
    )
  })
  return fc.assert(check, { numRuns: cases(100) })
})

test('reads times without an offset in the time zone, also near a change of the offset', async () => {
  const zones = 'Europe/Berlin America/St_Johns Australia/Lord_Howe Pacific/Kiritimati Pacific/Apia'.split(
    ' ',
  )
  const changes = '2011-12-30 2026-03-08 2026-03-29 2026-04-05 2026-10-04 2026-10-25 2026-11-01'.split(' ')
  const days = fc.integer({ min: Date.UTC(2005, 0), max: Date.UTC(2030, 0) }).map((ms) => ms - (ms % 60_000))
  const day = fc.oneof(days, fc.constantFrom(...changes.map(Date.parse)))
  const time = fc.tuple(day, fc.integer({ min: -4_000, max: 4_000 })).map(([at, n]) => at + n * 60_000)
  const times = fc.array(time, { minLength: 100, maxLength: 100 })
  const check = fc.asyncProperty(fc.constantFrom(...zones), times, async (zone, all) => {
    const shown = (text: string) => DateTime.fromISO(text, { zone }).toFormat("yyyy-MM-dd'T'HH:mm")
    // The clock skips some times. A time that occurs twice may be read as either of both.
    const texts = all
      .map((ms) => new Date(ms).toISOString().slice(0, 16))
      .filter((text) => shown(text) === text)
    const { items } = await read(['title,created', ...texts.map((text) => `a,${text}`)].join('\n'), {
      mapping: { timeZone: zone },
    })
    expect(items.map((item) => item.kind === 'task' && shown(item.createdAt!))).toEqual(texts)
  })
  await fc.assert(check, { numRuns: cases(10) })
})

test.each((await readEndless()).map((one) => [one.name, one] as const))(
  'stops in %s without an end',
  async (_, one) => {
    const part = one.part.replace(/\{(\d+)\}/g, (_, count: string) => 'x'.repeat(Number(count)))
    const perPiece = Math.ceil(500_000 / part.length)
    const pieceFrom = (n: number) =>
      part.includes('{n}')
        ? Array.from({ length: perPiece }, (_, i) => part.replaceAll('{n}', `${n + i}`)).join('')
        : part.repeat(perPiece)
    const file = function* () {
      yield one.start
      for (let n = 0; n * part.length < 300 * million; n += perPiece) yield pieceFrom(n)
    }
    const { error, bytesRead } = await read(file, one)
    expect(error).toContain(one.error)
    expect(bytesRead).toBeLessThan(one.megabytes * million)
  },
)

test('sorts the cards of a large file in groups of 16 million characters', async () => {
  const description = 'x'.repeat(3_900_000)
  const cards = [5, 4, 3, 2, 1, 0].map((sort) => ({ _id: `${sort}`, title: `${sort}`, sort, description }))
  const { items } = await read(JSON.stringify({ lists: [], cards }), { source: 'wekan', partBytes: 65_521 })
  expect(items.map((item) => item.kind === 'task' && item.title)).toEqual(['1', '2', '3', '4', '5', '0'])
})

test('reads a board of Deck whose cards have more than 20,000,000 characters', async () => {
  const cards = upTo(50).map((id) => ({ id, title: `${id}`, description: 'x'.repeat(500_000) }))
  const file = { boards: { 1: { id: 1, title: 'A', stacks: { 2: { id: 2, title: 'B', cards } } } } }
  const { items, error } = await read(JSON.stringify(file), { source: 'deck', partBytes: 65_521 })
  expect([items.length, error]).toEqual([50, undefined])
})

test('counts the name of a person of Jira once, also if the person is in each row', async () => {
  const names = upTo(900).map((n) => `${n}`.padEnd(500, 'x'))
  const header = ['Summary', ...names.flatMap(() => ['Watchers', 'Watchers Id'])].join()
  const row = ['Draw', ...names.flatMap((name, n) => [name, `id-${n}`])].join()
  const file = function* () {
    yield `${header}\n`
    for (let n = 0; n < 80; n++) yield `${row}\n`
  }
  const { items, error } = await read(file, { source: 'jira' })
  expect([items.length, error]).toEqual([80, undefined])
})

test('keeps of an action of Trello that created a card only the creator', async () => {
  const action = (id: string) => ({
    ...{ type: 'createCard', memberCreator: { fullName: 'Ada' } },
    data: { card: { id, desc: 'x'.repeat(9_000) } },
  })
  const file = function* () {
    yield `{"lists":[],"cards":[{"id":"c-0","name":"Draw"}],"actions":[${JSON.stringify(action('c-0'))}`
    for (let n = 1; n < 4_000; n++) yield `,${JSON.stringify(action(`c-${n}`))}`
    yield ']}'
  }
  const { items, error } = await read(file, { source: 'trello' })
  expect([items.length, error]).toEqual([1, undefined])
  expect(items[0]).toMatchObject({ title: 'Draw', author: { name: 'Ada' } })
})

// A regular expression that takes quadratic time needs minutes for these texts.
const longTexts: [Source, file: string, item: object][] = [
  ['github', JSON.stringify({ url: 'a'.repeat(900_000), number: 7, title: 'T' }), { key: '#7' }],
  ['csv', `Title,Owner\na,<${'@'.repeat(99_999)}\n`, { assignee: { name: `<${'@'.repeat(99_999)}` } }],
  [
    'csv',
    `Title,Note\na,${'x'.repeat(99_999)}🎉${'y'.repeat(50_000)}\n`,
    { description: 'x'.repeat(99_999) },
  ],
  ['csv', `Title\n1.${'0'.repeat(99_990)}x\n`, { kind: 'task' }],
  ['csv', `Title,Parent\na, (${'://'.repeat(30_000)}\n`, { title: 'a' }],
  ['todoist', `TYPE,CONTENT\ntask,a${' '.repeat(99_998)}b\n`, { title: `a${' '.repeat(99_998)}b` }],
]
test.each(longTexts)('reads a long text as %s', async (source, file, item) => {
  expect((await read(file, { source, partBytes: 65_536 })).items).toMatchObject([item])
})

test('rejects a line of deep JSON in an export of Docket', async () => {
  const file = `${JSON.stringify({ docket: 1, project: { id: 'p', name: 'P' } })}\n${'['.repeat(million)}\n`
  expect((await read(file, { source: 'docket' })).error).toBe('The line is not a JSON object (line 2)')
})
