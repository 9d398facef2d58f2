import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { titleWords } from '../../modules/search/text/document.ts'
import { readSearchText } from '../../modules/search/text/query.ts'
import { type Match, Matcher } from '../../modules/search/text/matches.ts'
import { readSnippet, snippetOf } from '../../modules/search/text/snippet.ts'
import { WordReader, wordsOf, wordTextsOf } from '../../modules/search/text/words.ts'
import { cases } from '../support/depth.ts'
import { pieces, texts } from './many-scripts.ts'

const snippet = (text: string, q: string) => snippetOf(text, readSearchText(q))
/** Returns the snippet with its matches between brackets. */
function marked(text: string, q: string): string {
  const { text: shown, matches } = snippet(text, q)
  return matches
    .toReversed()
    .reduce((all, [start, end]) => `${all.slice(0, start)}[${all.slice(start, end)}]${all.slice(end)}`, shown)
}

test.each([
  ['Draw the plates in ink', 'plate', 'Draw the [plates] in ink'],
  ['Draw the plates in ink', 'plate ink', 'Draw the plates in [ink]'],
  ['the plate, the plate', '"the plate"', '[the plate], [the plate]'],
  ['a a a b', '"a a"', '[a a a] b'],
  ['a a a b', '"a a b"', 'a [a a b]'],
  ['Café, e\u0301te\u0301!', 'ETE cafe', '[Café], [e\u0301te\u0301]!'],
  ['ﬁnal İstanbul ΟΔΟΣ', 'final istanbul οδος', '[ﬁnal] [İstanbul] [ΟΔΟΣ]'],
  ['東京都庁へ', '京都', '東[京都]庁へ'],
  ['東京都庁へ', '京', '東[京]都庁へ'],
  ['東京都庁へ', '都庁へ', '東京[都庁へ]'],
  ['東京都庁へ', 'へ', '東京都庁[へ]'],
  ['ｶﾞｲﾄﾞ', 'カ', '[ｶﾞ]ｲﾄﾞ'],
  ['𠮷野家𠮷', '𠮷', '[𠮷]野家[𠮷]'],
  ['a 東京', '"a 東"', '[a 東]京'],
  ['㍿東京', '株式会', '[㍿]東京'],
  ['㍿東京', '株', '[㍿]東京'],
  ['nothing', '#7 -not plate', 'nothing'],
])('marks in %j the matches of %j', (text, q, expected) => {
  expect(marked(text, q)).toBe(expected)
})

test('counts the terms that the whole text holds', () => {
  expect(snippet('Draw the plate', 'draw "the plate" wheel').count).toBe(2)
  expect(snippet(`plate ${'x '.repeat(500)} ink`, 'plate "ink"').count).toBe(2)
})

test('shows the part of a long text with the most terms, between whole words', () => {
  const filler = 'lorem ipsum '.repeat(40)
  const text = `${filler}plate ${filler}ink ${filler}the plate is in ink ${filler}ink ${filler}`
  const { text: shown, matches } = snippet(text, 'plate ink')
  expect(shown).toMatch(/^…(lorem|ipsum) .* the plate is in ink .* (lorem|ipsum)…$/)
  expect(shown.length).toBeLessThanOrEqual(200)
  expect(matches.map(([start, end]) => shown.slice(start, end))).toEqual(['plate', 'ink'])
})

test('shows the first of several equal parts, and the beginning of a text without matches', () => {
  const text = Array.from({ length: 100 }, (_, n) => `plate${n}`).join(' ')
  expect(snippet(text, 'plate').text).toStartWith('plate0 plate1 ')
  expect(snippet(text, 'wheel').text).toMatch(/^plate0 .* plate\d+…$/)
  expect(snippet(text, '"plate99"').text).toMatch(/^…plate\d+ .* plate99$/)
})

test('reads a long text only until it finds all words, or nothing better', () => {
  const steps = (q: string) => [...readSnippet('plate ink '.repeat(2_000), readSearchText(q))].length
  expect(steps('ink plate')).toBe(0)
  expect(steps('ink wheel')).toBe(3)
  expect(steps('wheel')).toBeGreaterThan(30)
})

test('finds the same matches if the text is read piece by piece', () => {
  const size = fc.integer({ min: 1, max: 7 })
  fc.assert(
    fc.property(texts(20), pieces, size, (text, piece, size) => {
      const q = `${piece} "${text.slice(0, 8).replaceAll('"', ' ')}" ${text.slice(2, 9).replaceAll('-', ' ')} x`
      const { terms } = readSearchText(q.replaceAll('\0', ' '))
      const found = (size: number) => {
        const reader = new WordReader(text)
        const matchers = terms.map((term, n) => new Matcher(term, n))
        const matches: Match[] = []
        for (let at = size; matchers.length; at += size) {
          const words = reader.readTo(at)
          for (const matcher of matchers) matcher.addMatches(words, reader.isComplete, matches)
          if (reader.isComplete) break
        }
        return matches.sort((a, b) => a.term - b.term || a.start - b.start || a.end - b.end)
      }
      expect(found(size)).toEqual(found(text.length))
    }),
    { numRuns: cases(300) },
  )
})

test.each([
  ['a word', `x ${'y'.repeat(20_000)} x`, 'y'.repeat(200)],
  ['a phrase', 'a '.repeat(10_000), `"${'a '.repeat(490)}"`],
  ['characters of two UTF-16 units', `xx${'🎉'.repeat(10_000)} plate`, 'xx'],
  ['a run of dense script', '𠮷'.repeat(10_000), '𠮷'.repeat(500)],
])('cuts %s that is longer than the snippet', (_, text, q) => {
  const { text: shown, matches } = snippet(text, q)
  expect(shown.length).toBeWithin(150, 201)
  expect(shown.isWellFormed()).toBe(true)
  expect(matches).toHaveLength(1)
  expect(/…/.test(shown.slice(...matches[0]!))).toBe(false)
})

test('every snippet is a part of its text', () => {
  const long = fc.array(texts(40), { minLength: 1, maxLength: 12 }).map((list) => list.join(' '))
  fc.assert(
    fc.property(long, fc.array(pieces, { minLength: 1, maxLength: 4 }), (text, list) => {
      const { text: shown, matches } = snippet(text, list.join(' '))
      const [, before, part, after] = /^(…?)([^]*?)(…?)$/.exec(shown)!
      const isPart = text.includes(part!) || text.includes(before + part! + after)
      expect({ shown, isPart, isShort: shown.length <= 200 }).toMatchObject({ isPart: true, isShort: true })
      if (text.isWellFormed()) expect(shown.isWellFormed()).toBe(true)
      for (const [n, [start, end]] of matches.entries()) {
        expect(start).toBeLessThan(end)
        expect(start).toBeGreaterThanOrEqual(matches[n - 1]?.[1] ?? 0)
        expect(end).toBeLessThanOrEqual(shown.length)
      }
    }),
    { numRuns: cases(200) },
  )
})

test('reads ASCII texts, which take a shorter way, like all others', () => {
  const ascii = fc.string({ unit: 'binary-ascii', maxLength: 300 })
  fc.assert(
    fc.property(fc.oneof(ascii, texts(20)), (text) => {
      const words = wordsOf(text)
      expect(wordTextsOf(text)).toEqual(words.map((word) => word.text))
      expect(wordsOf(`${text} é`).slice(0, -1)).toEqual(words)
    }),
    { numRuns: cases(300) },
  )
})

test('offers distinct words of letters for similar titles', () => {
  expect(titleWords('The Plate, the PLATE of 1842: v2 東京都')).toEqual(['the', 'plate'])
})
