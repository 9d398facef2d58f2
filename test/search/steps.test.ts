import { expect, test } from 'bun:test'
import { conditionsOf } from '../../modules/search/conditions.ts'
import { findDocuments, type Kind, maxHits } from '../../modules/search/documents.ts'
import { planSearch, planWithoutSample } from '../../modules/search/cost/estimate.ts'
import type { IndexWord } from '../../modules/search/cost/look-up.ts'
import { findMatchingTasks, matchesTask } from '../../modules/search/matching-tasks.ts'
import { readSearchText } from '../../modules/search/text/query.ts'
import { readSizes } from '../../modules/search/cost/sizes.ts'
import { openScene } from '../support/scene.ts'
import { project } from './scene.ts'

const { ada, sql, service } = await openScene(['Ada'])
const { searches } = service.services.database
const large = await project(ada)
const others = [await project(ada), await project(ada), await project(ada)]
const all = [large, ...others]

/** Fills a project with documents of words of different frequency. Three documents belong to each task. */
const words = ['half', 'tenth', 'fiftieth', 'rare', 'newer', 'older']
async function fill(projectId: string, count: number): Promise<void> {
  await sql`
    insert into search (project_id, id, kind, task_id, at, doc)
    select ${projectId}, uuidv7(), (n % 3)::int2, md5(${projectId} || n / 3)::uuid, timestamp '2030-01-01' + n * interval '7 s',
      concat_ws(' ', case when n % 2 = 0 then '''half'':1A' end, case when n % 10 = 0 then '''tenth'':2' end,
        case when n % 53 = 0 then '''fiftieth'':3' end, case when n % 701 = 0 then '''rare'':4B' end,
        case when n > ${count}::int4 - 300 then '''newer'':5' else '''older'':5' end)::tsvector
    from generate_series(1, ${count}::int4) n`
  await sql`update streams set version = ${count}::int8 where project_id = ${projectId}`
}
await fill(large, 12_000)
for (const [n, id] of others.entries()) await fill(id, 400 * (n + 1))
await sql`analyze search`

const queries = [
  ...words.map((word) => `"${word}"`),
  ...[
    'ha',
    'half tenth',
    '"half tenth"',
    'half fiftieth',
    'tenth fiftieth',
    'rare half',
    'older -half rare',
    'older fift',
  ],
  ...[
    'half -newer',
    '"rare"  -half',
    'newer older',
    'f',
    'nothing',
    '"tenth fiftieth"',
    'half tenth fiftieth rare',
  ],
]
const scopes: [string, string[]][] = [
  ['one small project', [others[0]!]],
  ['one large project', [large]],
  ['many projects', all],
]

test.each(scopes)('every way to find the newest hits finds the same: %s', async (_, projectIds) => {
  for (const q of queries)
    for (const kinds of [[0, 1], [1]] as Kind[][]) {
      const conditions = conditionsOf(readSearchText(q))
      const expected = await sql<{ id: string }[]>`
        select id from search where project_id = any(${projectIds}::uuid[]) and kind = any(${kinds}::bigint[])
          and doc @@ ${conditions.whole}::tsquery order by at desc, id desc`
      const found = await findDocuments(searches, { conditions, projectIds, kinds, newest: null })
      expect([q, found.map(({ id }) => id)]).toEqual([q, expected.slice(0, maxHits).map(({ id }) => id)])
      const newest = found[Math.floor(found.length / 2)]
      if (!newest) continue
      const next = await findDocuments(searches, { conditions, projectIds, kinds, newest })
      const start = expected.findIndex(({ id }) => id === newest.id)
      expect(next.map(({ id }) => id)).toEqual(expected.slice(start, start + maxHits).map(({ id }) => id))
    }
})

test.each(scopes)(
  'the tasks of a list are found through the index, or there are many: %s',
  async (_, projectIds) => {
    for (const q of queries) {
      const query = readSearchText(q)
      const has = (word: string) => sql`bool_or(doc @@ ${word}::tsquery)`
      const { terms, excluded } = { terms: query.terms.map(wholeOf), excluded: query.excluded.map(wholeOf) }
      const parts = [...terms.map(has), ...excluded.map((text) => sql`not ${has(text)}`)]
      const expected = await sql<{ taskId: string }[]>`
      select task_id from search where project_id = any(${projectIds}::uuid[]) and kind < 3 group by project_id, task_id
      having ${parts.reduce((a, b) => sql`${a} and ${b}`)}`
      const found = await findMatchingTasks(searches, query, projectIds)
      const ids =
        'foundIds' in found
          ? found.foundIds
          : idsOf(
              await sql<{ taskId: string }[]>`
              select distinct task_id from search t where project_id = any(${projectIds}::uuid[])
                and ${matchesTask(sql, sql`t.task_id`, { query, projectIds })}`,
            )
      expect([q, ids.sort()]).toEqual([q, idsOf(expected).sort()])
    }
  },
)

const idsOf = (rows: { taskId: string }[]) => rows.map(({ taskId }) => taskId)

function wholeOf(term: ReturnType<typeof readSearchText>['terms'][number]): string {
  return conditionsOf({ text: '', terms: [term], excluded: [] }).whole
}

test('the sample decides which step follows', () => {
  const some: IndexWord[] = [
    { text: "'common'", isPrefix: false },
    { text: "'rare'", isPrefix: false },
    { text: "'r':*", isPrefix: true },
  ]
  const sizes = { projects: 500, inScope: 1_000_000, total: 1_000_000, unmerged: 0, words: [0, 0, 0] }
  const sample = {
    documents: 2_000,
    hits: 100,
    words: [1_000, 100, 500],
    rate: 10,
    topMs: Date.parse('2030-01-02'),
  }
  const common = planSearch([some[0]!], sample, sizes, maxHits)
  expect(common.windows[0]!.documents).toBeLessThan(20_000)
  expect(Date.parse(common.windows[0]!.since)).toBeLessThan(sample.topMs)
  const none = planSearch(some, { ...sample, hits: 0 }, sizes, maxHits)
  expect(none).toMatchObject({ lookUp: "'rare' & 'common'", byProject: false, readsAll: false, windows: [] })
  expect(planSearch([some[2]!], { ...sample, hits: 0, words: [1] }, sizes, maxHits).lookUp).toBe("'r':*")
  expect(planSearch(some, sample, { ...sizes, projects: 1 }, maxHits).byProject).toBe(true)
  for (const rate of [1e-6, 1e-9, Number.MIN_VALUE])
    expect(planSearch([some[0]!], { ...sample, rate }, sizes, maxHits).windows[0]!.since).toStartWith('1970-')
})

test('a rare word is looked up without a sample, a frequent word or a short prefix is not', () => {
  const sizes = { projects: 20, inScope: 36_000, total: 1_000_000, unmerged: 0, words: [2_000] }
  const word = { text: "'word'", isPrefix: false }
  expect(planWithoutSample([word], sizes)).toMatchObject({ lookUp: "'word'" })
  expect(planWithoutSample([word], { ...sizes, words: [400_000] })).toBeUndefined()
  expect(planWithoutSample([{ text: "'wor':*", isPrefix: true }], sizes)).toBeUndefined()
  expect(planWithoutSample([word], { ...sizes, unmerged: 30_000 })).toBeUndefined()
  const small = { ...sizes, projects: 1, inScope: 1_800, words: [10_000] }
  expect(planWithoutSample([word], small)).toMatchObject({ byProject: true })
  expect(
    planWithoutSample([{ text: "'words':*", isPrefix: true }], { ...small, words: [20_000] }),
  ).toBeUndefined()
})

test('a look-up that finds many documents is limited to the newest', () => {
  const words = [{ text: "'half'", isPrefix: false }]
  const sample = { documents: 2_000, hits: 4, words: [1_000], rate: 10, topMs: Date.parse('2030-01-20') }
  const sizes = { projects: 500, inScope: 1_000_000, total: 1_000_000, unmerged: 0, words: [500_000] }
  const { windows, since } = planSearch(words, sample, sizes, maxHits)
  expect([windows, since?.slice(0, 8)]).toEqual([[], '2030-01-'])
  expect(planSearch(words, { ...sample, hits: 0 }, sizes, maxHits).since).toBeUndefined()
})

test('words of other projects do not make a search more expensive than reading the own documents', async () => {
  const half = { text: "'half'", isPrefix: false }
  const none = { documents: 2_000, hits: 0, words: [0], rate: 1, topMs: Date.parse('2030-01-02') }
  const sizes = await readSizes(searches, [others[2]!], [half])
  expect(sizes).toMatchObject({ projects: 1, inScope: 1_200 })
  // Half of 14,400 documents contain the word. Postgres estimates it from a sample.
  expect(sizes.words[0]).toBeWithin(6_000, 8_500)
  const twenty = { projects: 20, inScope: 36_000, total: 1_000_000, unmerged: 0, words: [0] }
  expect(planSearch([half], none, twenty, maxHits)).toMatchObject({ readsAll: false })
  const frequent = { ...twenty, words: [400_000] }
  expect(planSearch([half], none, frequent, maxHits)).toMatchObject({ readsAll: false, byProject: true })
  const prefix = { text: "'half':*", isPrefix: true }
  expect(planSearch([prefix], none, frequent, maxHits)).toMatchObject({ readsAll: true })
  const small = { ...twenty, projects: 2, inScope: 4_000 }
  expect(planSearch([half], none, small, maxHits)).toMatchObject({ readsAll: true })
  const large = { ...twenty, projects: 90, inScope: 200_000, words: [400_000] }
  expect(planSearch([half], none, large, maxHits)).toMatchObject({ readsAll: false, byProject: true })
  const notMerged = { ...large, unmerged: 16_000, words: [100_000] }
  expect(planSearch([half], none, notMerged, maxHits)).toMatchObject({ readsAll: false, byProject: false })
})
