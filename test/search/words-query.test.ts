import { expect, test } from 'bun:test'
import { indexWordsOf } from '../../modules/search/conditions.ts'
import {
  allInTitle,
  comparableWords,
  readSearchText,
  someInTitle,
  wholeQuery,
} from '../../modules/search/text/query.ts'

const whole = (q: string) => wholeQuery(readSearchText(q))

test('requires every word, and takes the last one as a prefix', () => {
  expect(whole('  Café Straße ')).toBe(`'cafe' & 'strasse':*`)
  expect(whole('foo-bar.ba')).toBe(`'foo' & 'bar' & 'ba':*`)
  expect(whole('foo-')).toBe(`'foo':*`)
})

test('reads phrases, exclusions and numbers, none of which is a prefix', () => {
  expect(whole('"the Plate" -ink')).toBe(`('the' <-> 'plate') & !'ink'`)
  expect(whole('plate -"in ink" #042')).toBe(`'plate' & '#42' & !('in' <-> 'ink')`)
  expect(whole('plate -foo-bar -#7')).toBe(`'plate' & !('foo' <-> 'bar') & !'#7'`)
  expect(whole('“one word”')).toBe(`('one' <-> 'word')`)
})

test('takes the rest as a phrase if a quote is not closed', () => {
  expect(whole('plate "in ink')).toBe(`'plate' & ('in' <-> 'ink')`)
})

test('finds dense script by pairs of characters, and a single character as a prefix', () => {
  expect(whole('東京都')).toBe(`('東京' <-> '京都')`)
  expect(whole('京')).toBe(`'京':*`)
  expect(whole('"東京 tower 都"')).toBe(`('東京' <-> '京' <-> 'tower' <-> '都':*)`)
})

test('searches for a repeated term once', () => {
  expect(whole('oil "oil" oil wheel -x -x oil')).toBe(`'oil' & 'wheel' & 'oil':* & !'x'`)
})

test('searches titles by weight', () => {
  expect(allInTitle(readSearchText('"a b" pla'))).toBe(`('a':A <-> 'b':A) & 'pla':*A`)
  expect(someInTitle(readSearchText('"a b" pla'))).toBe(`('a':A <-> 'b':A) | 'pla':*A`)
})

test('checks some words of a long phrase first, and names each word once for the index', () => {
  const phrase = Array.from('abcdefghi', (letter) => `'${letter}'`)
  expect(whole('"a b c d e f g hhh i"')).toBe(
    `('hhh' & 'a' & 'b' & 'c' & (${phrase.join(' <-> ').replace('h', 'hhh')}))`,
  )
  const indexed = (q: string) => indexWordsOf(readSearchText(q)).map(({ text }) => text)
  expect(indexed('"a bb a" a')).toEqual([`'a':*`, `'bb'`, `'a'`])
  const many = Array.from({ length: 400 }, (_, n) => n)
    .join(' ')
    .slice(0, 990)
  expect(indexed(`"${many}"`)).toHaveLength(16)
})

test('offers similar words for words of letters only', () => {
  expect(comparableWords(readSearchText('#42 2026 "an engine" 東京 plate'))).toEqual(['engine', 'plate'])
})

test.each(['', '  ', 'a\0b'])('rejects %j', (q) => {
  expect(() => readSearchText(q)).toThrow('q must be a text of 1 to 1000 characters')
})

test.each(['-ink', '-', '""', '…', '🎉', '#', '-"in ink"'])('reads no term from %j', (q) => {
  expect(readSearchText(q).terms).toEqual([])
})

test('rejects more than 32 terms or 1,000 characters', () => {
  const terms = (count: number) => Array.from({ length: count }, (_, n) => `w${n}`).join(' ')
  expect(readSearchText(terms(32)).terms).toHaveLength(32)
  expect(() => readSearchText(terms(33))).toThrow('q must have at most 32 words and phrases')
  expect(readSearchText(`${'x'.repeat(1_000)} `).terms).toHaveLength(1)
  expect(() => readSearchText('x'.repeat(1_001))).toThrow('q must be a text of 1 to 1000 characters')
})
