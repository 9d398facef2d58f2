import { hostileTexts } from '../http/hostile.ts'
import { make, openWebProcess, sampleOf, words } from '../kit.ts'
import { search } from './scene.ts'

const { ada } = await openWebProcess()
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
const characters = [0xd800, 0, 0x200b, 0xad, 0x301, 0x202e, 0xfeff, 0x2028].map((code) =>
  String.fromCharCode(code),
)
const others = [
  ...parts(`foo & bar; foo | bar; foo <-> bar; foo <2> bar; -foo -bar; "" foo; -"" foo; foo -foo; 漢 字`),
  ...words(`"foo -"foo !foo foo:* foo:A foo'bar 'foo' foo\\ (foo foo) (((( foo" --foo - -- -#1 # ##1 #0 #-1 #1.5 #1a #٣ "-foo" "#1" % _ %foo%
    #99999999999999999999 漢 漢字 "漢字" -漢 かな 한 한국 ไทย नमस्ते مرحبا שלום 😀 👩‍👩‍👧‍👦 𝔘𝔫𝔦 ﷺ ½ İ ẞ null NaN true {} [] __proto__
    constructor 1e999 -1 0x10`),
  ...characters.flatMap((one) => [one, `foo${one}bar`]),
  ...hostileTexts.filter((text) => text.length < 2_000),
]
const units = [
  ...words(`a 1 " - ( ' \\ & | :* % 漢 é 😀 ﷺ a- a" \u0301`),
  ...[`a `, `" `, `- `, `漢 `, `-a `, `"a" `, `#1 `, '\t', '\n'],
]
const lengths = [999, 1_000, 1_001, 10_000]
const long = units.flatMap((unit) => lengths.map((length) => unit.repeat(length).slice(0, length)))

/** A lone surrogate is sent as the bytes of its code. */
const encoded = (q: string) =>
  [...q].map((one) => (one.isWellFormed() ? encodeURIComponent(one) : '%ED%A0%80')).join('')
const paths = ['/search?', '/search?types=comment&', '/tasks?', `/tasks?projectId=${projectId}&`]

/** The server may reject the header of a longer text before the service reads the text. */
const maxLength = 4_000

test('every text gets 200 or a documented 400, which a text of more than 1,000 characters always gets', async () => {
  const queries = [...marks, ...sampleOf(sampleOf(pairs, 0), 0), ...others].flatMap(around)
  const ask = async (q: string, n: number) => {
    const path = `${paths[n % paths.length]}q=${encoded(q)}`
    const { status, body, text } = await ada.get(path)
    if (q.length > maxLength && [414, 431].includes(status)) return
    const isTooLong = [...q.trim()].length > 1_000
    if (status === 400 || isTooLong) {
      const message = expect.any(String)
      expect([path, body]).toEqual([path, { statusCode: 400, message, error: 'Bad Request' }] as never)
    } else expect([path, status, text.slice(0, 1)]).toEqual([path, 200, '['])
  }
  const all = [...queries, ...long]
  for (let at = 0; at < all.length; at += 20)
    await Promise.all(all.slice(at, at + 20).map((q, n) => ask(q, at + n + Math.floor(at / 20))))
  expect((await ada.get('/projects')).status).toBe(200)
}, 120_000)

test('marks that mean nothing in a search do not hide a title', async () => {
  const queries = parts(
    `foo's; bar & (baz); foo | qux; !qux; quux:*A; 'x'; "s bar"; "bar & (baz)"; QUX <-> QUU`,
  )
  for (const q of queries) expect([q, (await search(ada, q)).map(({ type }) => type)]).toEqual([q, ['task']])
})

const manyWords = Array.from({ length: 3_500 }, (_, n) => `w${n.toString(36)}`).join(' ')
const documents = [
  ...hostileTexts.filter((text) => text.isWellFormed() && !text.includes('\0')),
  ...['漢', '漢 ', 'a ', '\u0301', 'ﷺ', 'x', '😀', "'", '\\'].map((text) => text.repeat(20_000)),
  ...[manyWords, "\\'\\ ':1A"],
].map((text) => [...text].slice(0, 20_000).join(''))

test('no text of a task or comment prevents that later tasks are found', async () => {
  const { id } = await make(ada, '/projects', { name: 'Hostile' })
  let n = 0
  for (const text of documents) {
    const fits = text.length <= 500 && /[\p{L}\p{N}]/u.test(text) && !/\p{Cc}|[\u202a-\u202e]/u.test(text)
    const title = fits ? text : 'Plain'
    const task = await make(ada, '/tasks', { projectId: id, title, description: text })
    await ada.post(`/tasks/${task.id}/comments`, { text })
    await ada.post(`/tasks/${task.id}/subtasks`, { title })
    const last = await make(ada, '/tasks', { projectId: id, title: `After number ${++n}z` })
    expect((await search(ada, `${n}z`)).map(({ id }) => id)).toEqual([last.id])
  }
  expect((await search(ada, 'after number')).length).toBe(n)
})
