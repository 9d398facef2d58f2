import { expect, test } from 'bun:test'
import { hostileTexts } from '../http/hostile.ts'
import { openWebProcess } from '../support/web-process.ts'
import { make } from '../support/client.ts'
import { cases, sampleOf } from '../support/depth.ts'
import { openScene } from '../support/scene.ts'
import { words } from '../support/words.ts'
import { search } from './random/searches.ts'

const { ada } = await openScene(['Ada'])
const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
await make(ada, '/tasks', {
  projectId,
  title: "Foo's bar & (baz) | !qux <-> quux:*A \\ 'x'",
  description: 'a',
})

const ascii = Array.from({ length: 95 }, (_, n) => String.fromCharCode(32 + n))
const marks = ascii.filter((one) => /[^\p{L}\p{N}]/u.test(one))
const pairs = marks.flatMap((one) => marks.map((other) => one + other))
const around = (text: string) => [text, `${text}foo`, `foo${text}`, `foo${text}bar`, `foo ${text} bar`]
/** Texts with spaces are separated by `;`. */
const parts = (text: string) => text.split(';').map((one) => one.trim())
const others = [
  ...parts(`foo & bar; foo | bar; foo <-> bar; foo <2> bar; -foo -bar; "" foo; -"" foo; foo -foo; 漢 字`),
  ...words(`"foo -"foo !foo foo:* foo:A foo'bar 'foo' foo\\ (foo foo) (((( foo" --foo - -- -#1 # ##1 #0 #-1 #1.5 #1a #٣ "-foo" "#1" % _ %foo%
    #99999999999999999999 漢 漢字 "漢字" -漢 かな 한 한국 ไทย नमस्ते مرحبا שלום 😀 👩‍👩‍👧‍👦 𝔘𝔫𝔦 ﷺ ½ İ ẞ null NaN true {} [] __proto__
    constructor 1e999 -1 0x10`),
  ...[0xd800, 0, 0x200b, 0xad, 0x301, 0x202e, 0xfeff, 0x2028].flatMap((code) => [
    String.fromCharCode(code),
    `foo${String.fromCharCode(code)}bar`,
  ]),
]
const units = [
  ...words(`a 1 " - ( ' \\ & | :* % 漢 é 😀 ﷺ a- a" \u0301`),
  ...[`a `, `" `, `- `, `漢 `, `-a `, `"a" `, `#1 `, '\t', '\n'],
]
const lengths = [999, 1_000, 1_001, 10_000]
const long = units.flatMap((unit) => lengths.map((length) => unit.repeat(length).slice(0, length)))
/** Bun rejects longer headers. */
const fits = (text: string) => encodeURIComponent(text.toWellFormed()).length < 12_500

const paths = (q: string) => {
  // A lone surrogate is sent as the bytes of its code.
  const text = [...q].map((one) => (one.isWellFormed() ? encodeURIComponent(one) : '%ED%A0%80')).join('')
  return [
    `/search?q=${text}`,
    `/search?types=comment&q=${text}`,
    `/tasks?q=${text}`,
    `/tasks?projectId=${projectId}&q=${text}`,
  ]
}

async function expectAnswer(path: string): Promise<number> {
  const { status, body, text } = await ada.get(path)
  if (status === 400)
    expect([path, body]).toEqual([
      path,
      { statusCode: 400, message: expect.any(String), error: 'Bad Request' },
    ] as never)
  else expect([path, status, text.slice(0, 1)]).toEqual([path, 200, '['])
  return status
}

/** Sends each text as `q` to one of the paths. With TEST_DEPTH, sends each text to all paths. */
async function expectAnswers(queries: string[]): Promise<void> {
  const all = queries.flatMap((q, n) => (cases(1) > 1 ? paths(q) : [paths(q)[n % 4]!]))
  for (let at = 0; at < all.length; at += 20) await Promise.all(all.slice(at, at + 20).map(expectAnswer))
}

test('every ASCII punctuation mark, alone, in pairs and around words, gets 200 or a documented 400', async () => {
  await expectAnswers(marks.flatMap(around))
  const some = sampleOf(sampleOf(pairs, 0), 0)
  await expectAnswers([...some, ...some.map((pair) => `foo${pair}bar`)])
})

test('operators, quotes, invalid characters and other scripts get 200 or a documented 400', async () => {
  await expectAnswers([...others.flatMap(around), ...hostileTexts.filter((text) => text.length < 2_000)])
})

test('a long text gets 400 above 1,000 characters, and else 200 or a documented 400', async () => {
  for (const text of long.filter(fits)) {
    const status = await expectAnswer(paths(text)[0]!)
    if ([...text.trim()].length > 1_000) expect(status).toBe(400)
  }
})

test('marks that mean nothing in a search do not hide a title', async () => {
  const queries = parts(
    `foo's; bar & (baz); foo | qux; !qux; quux:*A; 'x'; "s bar"; "bar & (baz)"; QUX <-> QUU`,
  )
  for (const q of queries) expect([q, (await search(ada, q)).map(({ type }) => type)]).toEqual([q, ['task']])
})

const manyWords = (count: number) => Array.from({ length: count }, (_, n) => `w${n.toString(36)}`).join(' ')
const documents = [
  ...hostileTexts.filter((text) => text.isWellFormed() && !text.includes('\0')),
  ...['漢', '漢 ', 'a ', '\u0301', 'ﷺ', 'x', '😀', "'", '\\'].map((text) => text.repeat(20_000)),
  ...[manyWords(3_500), "\\'\\ ':1A"],
].map((text) => [...text].slice(0, 20_000).join(''))

test('no text of a task or comment prevents that later tasks are found', async () => {
  const { id } = await make(ada, '/projects', { name: 'Hostile' })
  let n = 0
  for (const text of documents) {
    const fits = text.length <= 500 && /[\p{L}\p{N}]/u.test(text) && !/\p{Cc}|[\u202a-\u202e]/u.test(text)
    const task = await make(ada, '/tasks', { projectId: id, title: fits ? text : 'Plain', description: text })
    await ada.post(`/tasks/${task.id}/comments`, { text })
    await ada.post(`/tasks/${task.id}/subtasks`, { title: fits ? text : 'Plain' })
    const last = await make(ada, '/tasks', { projectId: id, title: `After number ${++n}z` })
    expect((await search(ada, `${n}z`)).map(({ id }) => id)).toEqual([last.id])
  }
  expect((await search(ada, 'after number')).length).toBe(n)
})

test('a web process answers hostile searches over a socket, and then other requests', async () => {
  const { ada } = await openWebProcess()
  const answers = await Promise.all([...long, ...others].map((q, n) => ada.get(paths(q)[n % 4]!)))
  expect(
    [...new Set(answers.map(({ status }) => status))].filter(
      (status) => ![200, 400, 404, 414, 431].includes(status),
    ),
  ).toEqual([])
  expect((await ada.get('/projects')).status).toBe(200)
})
