import fc from 'fast-check'
import { hostileTexts } from '../http/hostile.ts'
import { cases, make, openWebProcess, words } from '../kit.ts'
import { searchIds, task } from './scene.ts'

const { ada } = await openWebProcess()
const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
await task(ada, projectId, 'Foo', { description: 'a' })

const ascii = Array.from({ length: 95 }, (_, n) => String.fromCharCode(32 + n))
const marks = ascii.filter((one) => /[^\p{L}\p{N}]/u.test(one))
const others =
  words(`foo foo:* foo:A #1 #0 #1.5 #٣ #99999999999999999999 <-> <2> '' "" -" 漢字 かな 한국 ไทย नमस्ते مرحبا 😀
  👩‍👩‍👧‍👦 𝔘𝔫𝔦 ﷺ ½ İ ẞ \ud800 \0 \u200b \u00ad \u0301 \u202e`)
const part = fc.constantFrom('foo', ' ', '"', '-', ...marks, ...others)
const short = fc.array(part, { maxLength: 8 }).map((all) => all.join(''))
const long = fc
  .tuple(short, fc.constantFrom(999, 1_000, 1_001, 10_000))
  .map(([text, length]) => `${text}x`.repeat(length).slice(0, length))
const hostile = fc.constantFrom(...hostileTexts.filter((text) => text.length < 2_000))
const text = fc.oneof(
  { weight: 8, arbitrary: short },
  { arbitrary: long, weight: 1 },
  { arbitrary: hostile, weight: 1 },
)

/** A lone surrogate is sent as the bytes of its code. */
const encoded = (q: string) =>
  [...q].map((one) => (one.isWellFormed() ? encodeURIComponent(one) : '%ED%A0%80')).join('')
const path = fc.constantFrom(
  '/search?',
  '/search?types=comment&',
  '/tasks?',
  `/tasks?projectId=${projectId}&`,
)
/** The server may reject the header of a longer text before the service reads the text. */
const maxLength = 4_000

test('every text gets 200 or a documented 400, which a text of more than 1,000 characters always gets', () =>
  fc.assert(
    fc.asyncProperty(path, text, async (path, q) => {
      const { status, body, text } = await ada.get(`${path}q=${encoded(q)}`)
      if (q.length > maxLength && [414, 431].includes(status)) return
      if (status === 400 || [...q.trim()].length > 1_000)
        expect(body as object).toEqual({ statusCode: 400, message: expect.any(String), error: 'Bad Request' })
      else expect([status, text[0]]).toEqual([200, '['])
    }),
    { numRuns: cases(200) },
  ))

const documents = [
  ...hostileTexts.filter((text) => text.isWellFormed() && !text.includes('\0')),
  ...['漢', '漢 ', 'a ', '\u0301', 'ﷺ', 'x', '😀', "'", '\\'].map((text) => text.repeat(20_000)),
  ...[Array.from({ length: 3_500 }, (_, n) => `w${n.toString(36)}`).join(' '), "\\'\\ ':1A"],
].map((text) => [...text].slice(0, 20_000).join(''))

test('no text of a task or comment prevents that later tasks are found', async () => {
  const { id } = await make(ada, '/projects', { name: 'Hostile' })
  for (const [n, text] of documents.entries()) {
    const fits = text.length <= 500 && /[\p{L}\p{N}]/u.test(text) && !/\p{Cc}|[\u202a-\u202e]/u.test(text)
    const title = fits ? text : 'Plain'
    const taskId = await task(ada, id, title, { description: text })
    await ada.post(`/tasks/${taskId}/comments`, { text })
    await ada.post(`/tasks/${taskId}/subtasks`, { title })
    const last = await task(ada, id, `After number ${n}z`)
    expect(await searchIds(ada, `${n}z`)).toEqual([last])
  }
  expect(await searchIds(ada, 'after number')).toHaveLength(documents.length)
})
