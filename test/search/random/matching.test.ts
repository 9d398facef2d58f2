import { expect, test } from 'bun:test'
import { taskDocument } from '../../../modules/search/text/document.ts'
import { indexWordsOf } from '../../../modules/search/conditions.ts'
import { readSearchText, wholeQuery } from '../../../modules/search/text/query.ts'
import { Random } from '../../faults/random.ts'
import { cases } from '../../support/depth.ts'
import { openScene } from '../../support/scene.ts'
import type { Doc } from './corpus.ts'
import { expectedHits } from './reference.ts'
import { randomQuery, randomText } from './texts.ts'

const { sql } = await openScene()

test('Postgres matches the document of a task with exactly the searches that the reference matches', async () => {
  const seed = Math.floor(Math.random() * 1_000_000)
  const random = new Random(seed)
  const docs = Array.from({ length: 40 }, (_, n): Doc => {
    const [title, text] = [randomText(random, 5), random.chance(0.7) ? randomText(random, 12) : '']
    return { kind: 'task', id: `${n}`, projectId: '', taskId: `${n}`, at: '', title, text, number: n + 1 }
  })
  const queries = Array.from({ length: cases(100) }, () => randomQuery(random, random.pick(docs)!)).filter(
    (q) => !/^\d+$/.test(q),
  )
  const documents = docs.map(({ title, text, number }) =>
    taskDocument({ title, number: number!, description: text || null }),
  )
  for (const q of queries) {
    const query = readSearchText(q)
    const indexed = indexWordsOf(query)
      .map(({ text }) => text)
      .join(' & ')
    const rows = await sql<{ n: number; isMatch: boolean; isIndexed: boolean }[]>`
      select n, d::tsvector @@ ${wholeQuery(query)}::tsquery as is_match, d::tsvector @@ ${indexed}::tsquery as is_indexed
      from unnest(${documents}::text[]) with ordinality _(d, n)`
    const found = rows.filter(({ isMatch }) => isMatch)
    const expected = new Set(expectedHits(docs, q).map(({ id }) => id))
    expect({ seed, q, ids: found.map(({ n }) => String(Number(n) - 1)) }).toEqual({
      seed,
      q,
      ids: docs.filter(({ id }) => expected.has(id)).map(({ id }) => id),
    })
    expect({ seed, q, notIndexed: found.filter(({ isIndexed }) => !isIndexed) }).toEqual({
      seed,
      q,
      notIndexed: [],
    })
  }
})
