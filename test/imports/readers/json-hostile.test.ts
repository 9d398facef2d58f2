import { expect, test } from 'bun:test'
import { ImportError } from '../../../modules/imports/items.ts'
import { readers } from '../../../modules/imports/sources.ts'
import { reading } from './reading.ts'

const million = 1_000_000

/** Reads a generated file. Returns the error, and the number of bytes read before the error. */
async function failure(source: 'trello' | 'wekan' | 'github' | 'asana', file: Iterable<string>) {
  let bytes = 0
  async function* open() {
    const encoder = new TextEncoder()
    for (const part of file) {
      const chunk = encoder.encode(part)
      bytes += chunk.length
      yield chunk
    }
  }
  const items = readers[source]!({
    open,
    mapping: {},
    propose: () => {},
    report: () => {},
  })
  const error = await Array.fromAsync(items).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ImportError)
  return { message: (error as ImportError).message, bytes }
}

function* repeated(part: string, times: number, perChunk = 1_000): Generator<string> {
  for (let n = 0; n < times; n += perChunk) yield part.repeat(Math.min(perChunk, times - n))
}

function* file(...parts: (string | Iterable<string>)[]): Generator<string> {
  for (const part of parts) yield* typeof part === 'string' ? [part] : part
}

/** Returns a file that can be opened several times. */
const again = (make: () => Iterable<string>): Iterable<string> => ({
  [Symbol.iterator]: () => make()[Symbol.iterator](),
})

test.each([
  ['an endless text', '[{"title":"', 'x'],
  ['an endless text of escapes, of which every piece ends within one', '[{"title":"x', '\\n'],
  ['an endless key', '[{"', 'x'],
  ['an endless number', '[{"number":1', '0'],
])('stops in %s after 16 MiB', async (_, start, part) => {
  const endless = again(() => file(start, repeated(part, 200 * million, 50_000)))
  const { message, bytes } = await failure('github', endless)
  expect(message).toBe('A value is longer than 16,777,216 bytes (line 1)')
  expect(bytes).toBeLessThan(40 * million)
})

test('stops in a card of ten million keys', async () => {
  const keys = function* () {
    for (let n = 0; n < 10 * million; n += 1000)
      yield Array.from({ length: 1000 }, (_, i) => `"key${n + i}":0,`).join('')
  }
  const { message, bytes } = await failure(
    'github',
    again(() => file('[{', keys(), '"end":0}]')),
  )
  expect(message).toMatch(/^0\.key\d+ is larger than 4,000,000 characters \(line 1\)$/)
  expect(bytes).toBeLessThan(10 * million)
})

test.each([
  ['lists of a card', '{"cards":[{"a":', '['],
  ['objects of a card', '{"cards":[', '{"a":'],
  ['lists that are not imported', '{"lists":[],"prefs":', '['],
])('rejects %s nested a million levels deep', async (_, start, part) => {
  const { message, bytes } = await failure(
    'trello',
    again(() => file(start, repeated(part, million))),
  )
  expect(message).toBe('The file is nested deeper than 64 levels (line 1)')
  expect(bytes).toBeLessThan(million)
})

test('rejects more lists than fit in memory', async () => {
  const list = (n: number) => `{"id":"${n}","name":"To do"},`
  const rows = function* () {
    for (let n = 0; n < million; n += 1000) yield Array.from({ length: 1000 }, (_, i) => list(n + i)).join('')
  }
  const lists = again(() => file('{"lists":[', rows(), '{}]}'))
  const { message, bytes } = await failure('trello', lists)
  expect(message).toBe('The file has more than 20,000 lists')
  expect(bytes).toBeLessThan(2 * million)
})

test('rejects large texts in more lists than fit in memory', async () => {
  const rows = function* () {
    for (let n = 0; n < 10_000; n++) yield `{"id":"${n}","name":"${'x'.repeat(500_000)}"},`
  }
  const lists = again(() => file('{"lists":[', rows(), '{}]}'))
  const { message, bytes } = await failure('trello', lists)
  expect(message).toBe(
    'The lists, labels and links of the cards, up to lists, have more than 32,000,000 characters',
  )
  expect(bytes).toBeLessThan(40 * million)
})

test('skips the bytes of attachments up to 16 MiB, and rejects longer ones', async () => {
  const board = (bytes: number) =>
    again(() =>
      file(
        '{"attachments":[{"_id":"a","cardId":"c","name":"plan","file":"',
        repeated('QUJD', bytes / 4, 4096),
        '"}],"lists":[],"cards":[{"_id":"c","title":"Draw"}]}',
      ),
    )
  const { items } = await reading(readers.wekan!, [...board(15 * million)].join(''), { partBytes: million })
  expect(items).toEqual([{ kind: 'task', row: 1, key: 'c', title: 'Draw', notes: ['Attachment: plan'] }])
  const { message } = await failure('wekan', board(20 * million))
  expect(message).toBe('A value is longer than 16,777,216 bytes (line 1)')
})

test.each([
  ['', 'The file is empty'],
  ['  \n', 'The file is empty'],
  ['{"lists":[]}\nx', 'The file is not valid JSON: unexpected "x" (line 2)'],
  ['{"lists":[\n{"pos":NaN}]}', 'The file is not valid JSON: unexpected "N" (line 2)'],
  ['{"lists":[\n{"pos":1e999}]}', 'lists.0.pos is too large a number (line 2)'],
  ['{"lists":[],}', 'The file is not valid JSON: unexpected "}" (line 1)'],
  ['{"lists":[\n1]}', 'lists.0 must be an object (line 2)'],
  ['{"lists":[\n[]]}', 'lists.0 must be an object (line 2)'],
  ['{"lists":[}', 'The file is not valid JSON: unexpected "}" (line 1)'],
  ['{"lists" []}', 'The file is not valid JSON: unexpected "[" (line 1)'],
  ['{"lists":[]', 'The file ends in the middle of a value: it may be cut off (line 1)'],
  ['{"lists":[]},', 'The file is not valid JSON: unexpected "," (line 1)'],
  ['"lists"', 'The file must contain a JSON object or list (line 1)'],
  ['tru', 'The file ends in the middle of a value: it may be cut off (line 1)'],
  ['{"lists":{"a":1},"cards":"x"}', 'lists.a must be an object (line 1)'],
  ['{"lists":[],\n"cards":"x"}', 'cards must be a list (line 2)'],
  ['{"lists":[{"id":"1","name":{}}],"cards":[]}', undefined],
  ['{"lists":[{"name":"To do"}]}', 'lists.0.id must be a text'],
  ['{"lists":[],"cards":[{"id":"1","name":[]}]}', 'cards.0.name must be a text'],
  ['{"lists":[],"cards":[{"id":"1","name":"a","idLabels":5}]}', 'cards.0.idLabels must be a list'],
  [
    '{"lists":[],"cards":[{"id":"1","name":"a","attachments":[1]}]}',
    'cards.0.attachments.0 must be an object',
  ],
  ['{"boards":[]}', 'The file is not the JSON export of a Trello board: it has no lists'],
  ['<html>', 'The file is not valid JSON: unexpected "<" (line 1)'],
])('rejects %j as a Trello board', async (text, message) => {
  const error = await reading(readers.trello!, text).catch((thrown: unknown) => thrown)
  if (message === undefined) return expect(error).toMatchObject({ items: [] })
  expect(error).toBeInstanceOf(ImportError)
  expect((error as ImportError).message).toBe(message)
})

/** Lists of projects and boards, as the APIs of the products return them. */
const lists = [
  '{"items":[{"id":"1","name":"Engine"}],"included":{"users":[],"boards":[{"id":"2","name":"Work"}]}}',
  '[{"id":1,"title":"Work","labels":[],"stacks":[]}]',
  '{"data":[{"gid":"1","resource_type":"project","name":"Engine"}]}',
  '[{"issue_url":"https://api.github.com/repos/ada/engine/issues/3","id":1,"body":"Oil it"}]',
]

test.each(['wekan', 'planka', 'deck', 'github', 'asana'] as const)(
  'rejects another file as %s',
  async (source) => {
    for (const text of ['{}', '[]', '{"name":"x"}', '[{"a":1}]', ...lists]) {
      const error = await reading(readers[source]!, text).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(ImportError)
    }
  },
)

test.each([
  ['wekan', '{"lists":[{"_id":"l"}],"checklistItems":"x"}', 'checklistItems must be a list (line 1)'],
  ['planka', '{"included":{"lists":7}}', 'included.lists must be a list (line 1)'],
  ['deck', '{"boards":"x"}', 'boards must be a list (line 1)'],
  ['deck', '{"stacks":[{"id":1,"cards":"x"}]}', 'stacks.0.cards must be a list (line 1)'],
  ['github', '5', 'The file must contain a JSON object or list'],
  ['asana', '{"data":{"gid":"1","name":"a"}}', 'data.gid must be an object (line 1)'],
] as const)('as %s, rejects %s with the value of the wrong type', async (source, text, message) => {
  await expect(reading(readers[source]!, text)).rejects.toThrow(new ImportError(message))
})

test('rejects bytes that are not UTF-8', async () => {
  const bytes = Buffer.concat([Buffer.from('{"lists":[\n"'), Buffer.from([0xff]), Buffer.from('"]}')])
  await expect(reading(readers.trello!, bytes)).rejects.toThrow(ImportError)
})

test('keys such as __proto__ do not change objects', async () => {
  const card = '{"id":"1","name":"a","__proto__":{"desc":"b"},"constructor":1}'
  const { items } = await reading(readers.trello!, `{"lists":[],"cards":[${card}]}`)
  expect(items).toEqual([{ kind: 'task', row: 1, key: '1', title: 'a' }])
})

test('names at most 20 unknown kinds of lines of a docket file in the report', async () => {
  const others = Array.from({ length: 1_000 }, (_, n) => ({ kind: `kind ${n}` }))
  const lines = [
    { docket: 1 },
    ...others,
    { kind: 'task', id: '1', title: 'a' },
    { kind: 'end', lines: 1_003 },
  ]
  const file = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  const { messages } = await reading(readers.docket!, file, { partBytes: 4_096 })
  expect(messages).toEqual([expect.stringMatching(/not imported: kind 0 \(1\), .*, others \(980\)$/)])
  expect(messages[0]!.split(', ')).toHaveLength(21)
})
