import { make, openScene } from '../kit.ts'
import { type Hit, search } from './scene.ts'

const { ada } = await openScene(['Ada'])
const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })

/** Searches for `q`, and returns the snippet of the task with this description, with its matches between brackets. */
async function marked(description: string, q: string): Promise<string | undefined> {
  const { id } = await make(ada, '/tasks', { projectId, title: 'Title', description })
  const hit = (await search(ada, q, { types: 'task' })).find((one: Hit) => one.id === id && !one.fuzzy)
  return hit?.snippet.matches
    .toReversed()
    .reduce(
      (all, [start, end]) => `${all.slice(0, start)}[${all.slice(start, end)}]${all.slice(end)}`,
      hit.snippet.text,
    )
}

const found = [
  ['Draw the plates in ink', 'plate', 'Draw the [plates] in ink'],
  ['Draw the plates in ink', 'draw ink', '[Draw] the plates in [ink]'],
  ['the plate, the plate', '"the plate"', '[the plate], [the plate]'],
  ['a a a b', '"a a"', '[a a a] b'],
  ['a a a b', '"a a b"', 'a [a a b]'],
  ['foo-bar_baz.v2', 'v baz', undefined],
  ['foo-bar_baz.v2', '"foo-bar" v2', '[foo-bar]_baz.[v2]'],
  ['it’s мʼята', "it's мʼята", '[it]’[s] [м]ʼ[ята]'],
  ['Café, e\u0301te\u0301!', 'ETE cafe', '[Café], [e\u0301te\u0301]!'],
  ['Straße Ærø Łódź', 'strasse aero lodz', '[Straße] [Ærø] [Łódź]'],
  ['ﬁnal İstanbul ΟΔΟΣ', 'final istanbul οδος', '[ﬁnal] [İstanbul] [ΟΔΟΣ]'],
  ['ＷＩＤＥ m² ½ Ⅷ ٤٢', 'wide m2 viii 42', '[ＷＩＤＥ] [m²] ½ [Ⅷ] [٤٢]'],
  ['soft\u00adhyphen c\u200dd', 'softhyphen cd', '[soft\u00adhyphen] [c\u200dd]'],
  ['दिल', 'दल', undefined],
  ['شَمْس كـتاب', 'شمس كتاب', '[شَمْس] [كـتاب]'],
  ['東京都庁へ', '京都', '東[京都]庁へ'],
  ['東京都庁へ', '京', '東[京]都庁へ'],
  ['東京都庁へ', '都庁へ', '東京[都庁へ]'],
  ['東京都庁へ', '庁都', undefined],
  ['東京都庁へ', 'へ', '東京都庁[へ]'],
  ['ｶﾞｲﾄﾞ', 'カ', '[ｶﾞ]ｲﾄﾞ'],
  ['𠮷野家𠮷', '𠮷', '[𠮷]野家[𠮷]'],
  ['a 東京', '"a 東"', '[a 東]京'],
  ['㍿東京', '株式会', '[㍿]東京'],
  ['\u1112\u1161\u11ab\u1100\u116e\u11a8', '한국', '[\u1112\u1161\u11ab\u1100\u116e\u11a8]'],
] as const

test('finds the words of all scripts, and marks them', async () => {
  for (const [text, q, expected] of found)
    expect([text, q, await marked(text, q)]).toEqual([text, q, expected])
}, 120_000)

test('shows a part of a long text with all words, between whole words', async () => {
  const filler = 'lorem ipsum '.repeat(40)
  const text = `${filler}plate ${filler}ink ${filler}the plate is in ink ${filler}ink ${filler}`
  const shown = (await marked(text, 'plate ink'))!
  expect(shown).toMatch(/^…(lorem|ipsum) .* the \[plate\] is in \[ink\] .* (lorem|ipsum)…$/)
  expect(shown.length).toBeLessThanOrEqual(204)
  const numbers = Array.from({ length: 100 }, (_, n) => `wheel${n}`).join(' ')
  expect(await marked(numbers, 'wheel')).toStartWith('[wheel0] [wheel1] ')
  expect(await marked(numbers, '"wheel99"')).toMatch(/^…wheel\d+ .* \[wheel99\]$/)
  expect(await marked(`${'x'.repeat(300)} needle`, 'needle')).toEndWith('[needle]')
  expect(await marked(`${'ink '.repeat(4_900)}needle`, 'needle')).toEndWith('ink [needle]')
})

test('cuts a word at 200 characters, and a phrase does not cross the end of a title', async () => {
  expect(await marked('y'.repeat(250), `"${'y'.repeat(200)}"`)).toStartWith('[yyy')
  expect(await marked('begins here', '"title begins"')).toBeUndefined()
})
