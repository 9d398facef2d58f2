import { expect, test } from 'bun:test'
import { taskDocument } from '../../modules/search/text/document.ts'
import { wordsOf } from '../../modules/search/text/words.ts'

test.each([
  ['foo-bar_baz.v2', 'foo bar baz v2'],
  ['it’s мʼята', 'it s м ята'],
  [
    'ÉTÉ e\u0301te\u0301 Straße STRASSE Ærø Łódź İstanbul ısı',
    'ete ete strasse strasse aero lodz istanbul isi',
  ],
  ['ΟΔΟΣ οδος', 'οδοσ οδοσ'],
  ['ﬁnal ＷＩＤＥ m² ½ Ⅷ', 'final wide m2 1 2 viii'],
  ['٤٢ ०९ 𝟙𝟘', '42 09 10'],
  ['soft\u00adhyphen a\u200bb c\u200dd', 'softhyphen a b cd'],
  ['شَمْس كـتاب', 'شمس كتاب'],
  ['दिल दल', 'दिल दल'],
  ['東京都 ｶﾞ ガ', '東京 京都 都 カ カ'],
  ['a東b 第3回', 'a 東 b 第 3 回'],
  ['\u1112\u1161\u11ab\u1100\u116e\u11a8 한국', '한국 국 한국 국'],
  ['ไม้', 'ไม ม'],
  ['', ''],
  ['🎉 … \ud800', ''],
])('reads the words of %j', (text, expected) => {
  expect(wordsOf(text).map((word) => word.text)).toEqual(expected ? expected.split(' ') : [])
})

test('cuts a word at 200 UTF-16 code units, but no character', () => {
  const lengths = ['x'.repeat(300), `x${'𐐀'.repeat(150)}`].map((text) => wordsOf(text)[0]!.text.length)
  expect(lengths).toEqual([200, 199])
})

test('writes a document with weights, positions and a gap after the title', () => {
  const task = { number: 42, title: 'Draw the plate', description: 'In ink' }
  expect(taskDocument(task).trim()).toBe(`'#42':1A 'draw':2A 'the':3A 'plate':4A 'in':6 'ink':7`)
  const long = taskDocument({ ...task, description: 'ink '.repeat(17_000) })
  expect(long.trim()).toEndWith(` 'ink':16383 'ink':16383`)
})
