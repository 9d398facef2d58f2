import { ImportError } from '../../../modules/imports/items.ts'
import { readers, type Source } from '../../../modules/imports/sources.ts'
import { reading } from './reading.ts'

const million = 1_000_000

/** Returns `times` texts, in parts of 1,000 or `perPart`. */
function* repeated(times: number, textOf: (n: number) => string, perPart = 1_000): Generator<string> {
  for (let n = 0; n < times; n += perPart)
    yield Array.from({ length: Math.min(perPart, times - n) }, (_, i) => textOf(n + i)).join('')
}

/** Reads a generated file. Returns the message of the error, and the number of bytes read before the error. */
async function failure(source: Source, file: () => Iterable<string>) {
  let bytes = 0
  async function* open() {
    for (const part of file()) {
      const chunk = new TextEncoder().encode(part)
      bytes += chunk.length
      yield chunk
    }
  }
  const items = readers[source]({ open, mapping: {}, propose: () => {}, report: () => {} })
  const error = await Array.fromAsync(items).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ImportError)
  return { message: (error as ImportError).message, bytes }
}

const tooLong = /^A value is longer than 16,777,216 bytes \(line 1\)$/
const tooDeep = /^The file is nested deeper than 64 levels \(line 1\)$/
const long = 'x'.repeat(500_000)

/** Files of hundreds of megabytes, and the most megabytes that may be read before the error. */
const endless: [
  name: string,
  Source,
  start: string,
  textOf: (n: number) => string,
  RegExp,
  megabytes: number,
][] = [
  ['a text', 'github', '[{"title":"', () => long, tooLong, 40],
  ['a text of escapes', 'github', '[{"title":"x', () => '\\n'.repeat(50_000), tooLong, 40],
  ['a key', 'github', '[{"', () => long, tooLong, 40],
  ['a number', 'github', '[{"number":1', () => '0'.repeat(50_000), tooLong, 40],
  [
    ...(['a card of many keys', 'github', '[{', (n: number) => `"key${n}":0,`.padEnd(100)] as const),
    ...([/^0\.key\d+ is larger than 4,000,000 characters \(line 1\)$/, 40] as const),
  ],
  ['lists of a card', 'trello', '{"cards":[{"a":', () => '['.repeat(100), tooDeep, 1],
  ['objects of a card', 'trello', '{"cards":[', () => '{"a":', tooDeep, 1],
  ['lists that are not imported', 'trello', '{"lists":[],"prefs":', () => '['.repeat(100), tooDeep, 1],
  [
    ...(['lists', 'trello', '{"lists":[', (n: number) => `{"id":"${n}","name":"To do"},`] as const),
    ...([/^The file has more than 20,000 lists$/, 2] as const),
  ],
  [
    ...(['long lists', 'trello', '{"lists":[', (n: number) => `{"id":"${n}","name":"${long}"},`] as const),
    ...([/^The lists, labels and links .* have more than 32,000,000 characters$/, 40] as const),
  ],
]
test.each(endless)('stops in %s without an end', async (_, source, start, textOf, expected, megabytes) => {
  const perPart = textOf(0).length > 1_000 ? 1 : 1_000
  const times = (300 * million) / textOf(0).length
  const { message, bytes } = await failure(source, function* () {
    yield start
    yield* repeated(times, textOf, perPart)
  })
  expect(message).toMatch(expected)
  expect(bytes).toBeLessThan(megabytes * million)
})

test('skips the bytes of attachments up to 16 MiB, and rejects longer ones', async () => {
  const board = (bytes: number) =>
    function* () {
      yield '{"attachments":[{"_id":"a","cardId":"c","name":"plan","file":"'
      yield* repeated(bytes / 4_000, () => 'QUJD'.repeat(1_000), 1)
      yield '"}],"lists":[],"cards":[{"_id":"c","title":"Draw"}]}'
    }
  const { items } = await reading(readers.wekan, [...board(15 * million)()].join(''), { partBytes: million })
  expect(items).toEqual([{ kind: 'task', row: 1, key: 'c', title: 'Draw', notes: ['Attachment: plan'] }])
  expect((await failure('wekan', board(20 * million))).message).toMatch(tooLong)
})

const invalid = (character: string, line = 1) =>
  `The file is not valid JSON: unexpected "${character}" (line ${line})`
const missing = {
  trello: 'The file is not the JSON export of a Trello board: it has no lists',
  wekan: 'The file is not the JSON export of a WeKan board: it has no lists',
  planka: 'The file is not a response of the API of Planka with a board: it has no included lists and cards',
  deck: 'The file is not a Deck export of boards with cards: it has no stacks',
  asana: 'The file has no tasks: expected the JSON export of an Asana project',
  github: 'The file has no issues: expected a list of issues of GitHub',
}
const noIssue = 'The file is not a list of issues of GitHub: an issue has a number and a title (row 1)'
const isCut = 'The file ends in the middle of a value: it may be cut off (line 1)'

const rejected: [Source, text: string, message: string][] = [
  ['trello', '', 'The file is empty'],
  ['trello', '  \n', 'The file is empty'],
  ['trello', '{"lists":[]}\nx', invalid('x', 2)],
  ['trello', '{"lists":[\n{"pos":NaN}]}', invalid('N', 2)],
  ['trello', '{"lists":[],}', invalid('}')],
  ['trello', '{"lists":[}', invalid('}')],
  ['trello', '{"lists" []}', invalid('[')],
  ['trello', '{"lists":[]},', invalid(',')],
  ['trello', '<html>', invalid('<')],
  ['trello', '{"lists":[]', isCut],
  ['trello', 'tru', isCut],
  ['trello', '"lists"', 'The file must contain a JSON object or list (line 1)'],
  ['github', '5', 'The file must contain a JSON object or list'],
  ['trello', '{"lists":[\n{"pos":1e999}]}', 'lists.0.pos is too large a number (line 2)'],
  ['trello', '{"lists":[\n1]}', 'lists.0 must be an object (line 2)'],
  ['trello', '{"lists":[\n[]]}', 'lists.0 must be an object (line 2)'],
  ['trello', '{"lists":{"a":1}}', 'lists.a must be an object (line 1)'],
  ['trello', '{"lists":[],\n"cards":"x"}', 'cards must be a list (line 2)'],
  ['trello', '{"lists":[{"name":"To do"}]}', 'lists.0.id must be a text'],
  ['trello', '{"cards":[{"id":"1","name":[]}]}', 'cards.0.name must be a text'],
  ['trello', '{"cards":[{"id":"1","name":"a","idLabels":5}]}', 'cards.0.idLabels must be a list'],
  [
    'trello',
    '{"cards":[{"id":"1","name":"a","attachments":[1]}]}',
    'cards.0.attachments.0 must be an object',
  ],
  ['trello', '{"cards":[{"id":"1","name":"a","badges":1}]}', 'cards.0.badges.comments must be in an object'],
  ['wekan', '{"lists":[{"_id":"l"}],"checklistItems":"x"}', 'checklistItems must be a list (line 1)'],
  ['planka', '{"included":{"lists":7}}', 'included.lists must be a list (line 1)'],
  ['deck', '{"boards":"x"}', 'boards must be a list (line 1)'],
  ['deck', '{"stacks":[{"id":1,"cards":"x"}]}', 'stacks.0.cards must be a list (line 1)'],
  ['asana', '{"data":{"gid":"1","name":"a"}}', 'data.gid must be an object (line 1)'],
  // Lists of projects and boards, as the APIs of the products return them.
  ['planka', '{"items":[{"id":"1","name":"Engine"}],"included":{"boards":[{"id":"2"}]}}', missing.planka],
  ['deck', '[{"id":1,"title":"Work","labels":[],"stacks":[]}]', missing.deck],
  ['asana', '{"data":[{"gid":"1","resource_type":"project","name":"Engine"}]}', missing.asana],
  [
    'github',
    '[{"issue_url":"https://api.github.com/repos/a/b/issues/3","id":1,"body":"Oil"}]',
    missing.github,
  ],
  ['github', '{"message":"Not Found"}', noIssue],
  ...Object.entries(missing).flatMap(([source, message]): [Source, string, string][] =>
    ['{}', '[]', '{"name":"x"}', '[{"a":1}]'].map((text) => [
      source as Source,
      text,
      source === 'github' && text !== '[]' ? noIssue : message,
    ]),
  ),
]
test.each(rejected)('as %s, rejects %j', async (source, text, message) => {
  const error = await reading(readers[source], text).catch((thrown: unknown) => thrown)
  expect(error).toEqual(new ImportError(message))
})

test.each([
  ['trello', '{"lists":[],"cards":[]}'],
  ['wekan', '{"lists":[]}'],
  ['planka', '{"included":{"lists":[]}}'],
] as const)('as %s, reads the empty board %s', async (source, text) => {
  expect((await reading(readers[source], text)).items).toEqual([])
})

test('rejects bytes that are not UTF-8', async () => {
  const bytes = Buffer.concat([Buffer.from('{"lists":[\n"'), Buffer.from([0xff]), Buffer.from('"]}')])
  await expect(reading(readers.trello, bytes)).rejects.toThrow(ImportError)
})

test('keys such as __proto__ do not change objects', async () => {
  const card = '{"id":"1","name":"a","__proto__":{"desc":"b"},"constructor":1}'
  const { items } = await reading(readers.trello, `{"lists":[],"cards":[${card}]}`)
  expect(items).toEqual([{ kind: 'task', row: 1, key: '1', title: 'a' }])
})
