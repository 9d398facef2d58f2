import { expect, test } from 'bun:test'
import fc from 'fast-check'
import postgres from 'postgres'
import { commentDocument, taskDocument } from '../../modules/search/text/document.ts'
import {
  allInTitle,
  readSearchText,
  type SearchQuery,
  someInTitle,
  termQuery,
  wholeQuery,
} from '../../modules/search/text/query.ts'
import { indexWordsOf } from '../../modules/search/conditions.ts'
import { snippetOf } from '../../modules/search/text/snippet.ts'
import { HttpError } from '../../src/responses/errors.ts'
import { freshDatabase } from '../support/database.ts'
import { cases } from '../support/depth.ts'
import { forFile } from '../support/service.ts'
import { densePieces, forms, lists, pieces, separators, spacedPieces, texts } from './many-scripts.ts'

const fresh = await forFile(freshDatabase())
const sql = postgres(fresh.url, { max: 1 })
await forFile({ close: () => sql.end() })

const check = <T>(arbitrary: fc.Arbitrary<T>, property: (value: T) => Promise<void>, runs = 200) =>
  fc.assert(fc.asyncProperty(arbitrary, property), { numRuns: cases(runs) })

/** Returns for each text of a tsquery whether a document matches. */
async function matchesOf(document: string, queries: string[]): Promise<boolean[]> {
  const rows = await sql<{ fits: boolean }[]>`
    select ${document}::text::tsvector @@ q::tsquery as fits
    from unnest(${queries}::text[]) with ordinality _(q, n) order by n`
  return rows.map(({ fits }) => fits)
}

const indexQuery = (query: SearchQuery) =>
  indexWordsOf(query)
    .map(({ text }) => text)
    .join(' & ')

/** Returns undefined for a text that asks for nothing. */
function readable(q: string): SearchQuery | undefined {
  try {
    const query = readSearchText(q)
    return query.terms.length > 0 ? query : undefined
  } catch (error) {
    if (error instanceof HttpError && error.status === 400) return undefined
    throw error
  }
}

async function expectFound(text: string, queries: SearchQuery[], found: boolean): Promise<void> {
  const fits = await matchesOf(commentDocument({ text }), queries.map(wholeQuery))
  const missing = queries.filter((_, n) => fits[n] !== found)
  expect(missing.map((query) => query.text)).toEqual([])
}

test('Postgres reads the document of every text, and the terms of every search', async () => {
  const task = fc.record({ number: fc.nat(), title: texts(6), description: fc.option(texts(20)) })
  await check(fc.tuple(task, texts(12)), async ([task, q]) => {
    const query = readable(q)
    const forms = query
      ? [wholeQuery, indexQuery, allInTitle, someInTitle].map((form) => form(query))
      : [`'a'`, `'a'`, `'a'`, `'a'`]
    const document = taskDocument(task)
    expect([document, ...forms].every((text) => text.isWellFormed() && !text.includes('\0'))).toBe(true)
    const [whole, indexed, all, some] = await matchesOf(document, forms)
    if (whole) expect(indexed).toBe(true)
    if (all) expect(some).toBe(true)
  })
})

test('Postgres and the snippet find the same terms, and the matches cover whole characters', async () => {
  await check(fc.tuple(texts(12), texts(8)), async ([text, q]) => {
    const query = readable(q)
    if (!query) return
    const terms = [...query.terms, ...query.excluded]
    const found = await matchesOf(
      commentDocument({ text }),
      terms.map((term) => termQuery(term)),
    )
    expect(terms.map((term) => snippetOf(text, { terms: [term] }).count === 1)).toEqual(found)
    const snippet = snippetOf(text, query)
    expect(snippet.matches.length > 0).toBe(snippet.count > 0)
    const ends = snippet.matches.flat()
    expect(ends).toEqual(ends.toSorted((a, b) => a - b))
    for (const [start, end] of snippet.matches) {
      const match = snippet.text.slice(start, end)
      expect({ start, end, match, isWhole: match.isWellFormed() || !text.isWellFormed() }).toMatchObject({
        isWhole: true,
      })
      expect(readable(match.replaceAll(/["“”„‟＂#-]/g, ' '))).toBeDefined()
    }
  })
})

test('finds a text by each of its words, in any case and Unicode form, and by its phrases', async () => {
  await check(fc.tuple(lists, separators), async ([list, separator]) => {
    const words = list.flatMap((piece) => forms.map((form) => readSearchText(form(piece))))
    const phrases = list
      .slice(1)
      .map((piece, n) => readSearchText(`"${list[n]} ${forms[n % forms.length]!(piece)}"`))
    await expectFound(list.join(separator), [...words, ...phrases], true)
  })
})

test('finds no text by an excluded word or phrase of the text', async () => {
  await check(fc.tuple(lists, separators), async ([list, separator]) => {
    const [first, second] = list
    const excluded = [`${first} -"${first} ${second}"`, ...list.map((piece) => `${first} -${piece}`)]
    await expectFound(list.join(separator), excluded.map(readSearchText), false)
  })
})

test('finds a word by its beginnings, but not as a phrase', async () => {
  await check(
    fc.tuple(lists, spacedPieces),
    async ([list, word]) => {
      const characters = [...word]
      const beginnings = characters.map((_, n) => characters.slice(0, n + 1).join(''))
      const queries = beginnings.flatMap((beginning) => readable(`${list[0]} ${beginning}`) ?? [])
      await expectFound([...list, word].join(' '), queries, true)
    },
    50,
  )
  await expectFound(
    'plates',
    [readSearchText('"plate"'), readSearchText('plate ink'), readSearchText('plate #4')],
    false,
  )
})

test('finds a script without spaces by every part', async () => {
  await check(fc.tuple(densePieces, densePieces, pieces), async ([before, word, after]) => {
    const characters = [...word]
    const parts = characters.flatMap((_, from) =>
      characters.map((_, to) => characters.slice(from, to + 1).join('')),
    )
    const queries = parts.flatMap((part) => readable(part) ?? [])
    await expectFound(`${before}${word} ${after}`, queries, true)
  })
})

test('finds no phrase across the end of a title', async () => {
  const document = taskDocument({ number: 7, title: 'draw the plate', description: 'in ink' })
  const queries = ['"the plate"', '"in ink"', '#7 plate', '"plate in"', '"7 draw"', '7', '#77'].map(
    readSearchText,
  )
  const expected = [true, true, true, false, false, false, false]
  expect(await matchesOf(document, queries.map(wholeQuery))).toEqual(expected)
  const inTitle = ['#7', '"the plate"', 'dra', 'ink', '"in ink"'].map(readSearchText)
  expect(await matchesOf(document, inTitle.map(allInTitle))).toEqual([true, true, true, false, false])
})

const range = (count: number, first: number) =>
  Array.from({ length: count }, (_, n) => String.fromCodePoint(first + n))

test.each([
  ['different Chinese characters', range(20_000, 0x4e00).join('')],
  ['characters of two UTF-16 units', range(20_000, 0x20000).join('')],
  [
    'characters that stand for several',
    Array.from({ length: 80 }, () => range(250, 0x3300).join('')).join(''),
  ],
  [
    'different words',
    range(20_000, 0x4e00)
      .map((_, n) => n.toString(36))
      .join(' ')
      .slice(0, 20_000),
  ],
  ['the longest ligature', 'ﷺ'.repeat(20_000)],
  ['words without an end', 'é'.repeat(20_000)],
])('Postgres stores the longest description: %s', async (_, text) => {
  const title = text.slice(0, 200)
  const [row] =
    await sql`select length(${taskDocument({ number: 1, title, description: text })}::text::tsvector)`
  expect(row!.length).toBeGreaterThan(1)
})

test.each([
  ['a phrase of the longest ligature', `"${'ﷺ'.repeat(999)}`],
  ['characters that stand for several', `"${range(256, 0x3300).join('').repeat(4).slice(0, 999)}`],
  ['different Chinese characters', range(1_000, 0x4e00).join('')],
  ['a phrase of short words', `"${'a b '.repeat(249)}"`],
  ['excluded phrases', `x ${'-"a b c d e f g h i" '.repeat(31)}`],
  ['a long number', `#${'9'.repeat(999)}`],
  ['a word without an end', '𐐀'.repeat(1_000)],
])('Postgres reads the longest search: %s', async (_, q) => {
  const query = readSearchText(q)
  const forms = [wholeQuery, indexQuery, allInTitle, someInTitle].map((form) => form(query))
  expect(await matchesOf(commentDocument({ text: 'x' }), forms)).toEqual([
    q.startsWith('x'),
    q.startsWith('x'),
    false,
    false,
  ])
  expect(snippetOf(q, query).count).toBe(q.startsWith('#') ? 0 : 1)
})
