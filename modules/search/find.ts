import { canonicalId, isId, nilId } from '../../src/id-format.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { errorCode } from '../../src/postgres/errors.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'
import type { HitKey, HitType, SearchRequest } from './schema.ts'
import { comparableWords, conditionsOf, indexQuery, termQuery } from './text/query.ts'
import type { Scope } from './up-to-date.ts'

/** The hits of a search are the newest documents that match: at most this many. */
export const maxHits = 200
/** Similar titles are searched among this many of the newest documents. */
export const maxTitles = 20_000
/** More words of a search are not compared with titles. */
const maxComparedWords = 4
const minSimilarity = 0.3
/** At least so many of the newest documents are read before the index of words. */
const minRead = 4_000
/** Postgres plans a statement with more projects too slowly. */
const maxMerged = 1_000

export interface FoundDocument extends HitKey {
  kind: HitType
  /** The words of a title that are similar to the words of the search. */
  similar?: string[]
}

type Wanted = Pick<SearchRequest, 'query' | 'types' | 'newest'>

/** Returns the rows whose id or external id is the whole query. */
export const findNamed = (
  sql: Sql,
  projectIds: string[],
  { query: { text }, types }: Pick<Wanted, 'query' | 'types'>,
) => {
  const id = canonicalId(text)
  return unprepared(sql<FoundDocument[]>`
    select s.id, s.kind, s.at, 0 as rank from search_documents s
    where s.id = any(array(select t.id from tasks t where t.project_id = any(${projectIds}::uuid[]) and t.external_id = ${text})
        || ${isId(id) ? id : nilId}::uuid)
      and s.project_id = any(${projectIds}::uuid[]) and s.kind = any(${types}::text[]) and s.doc is not null
    order by s.at desc, s.id desc limit ${maxHits}`)
}

/**
 * Returns the newest documents that match. First reads the newest documents, which probably contain enough hits of a word that
 * occurs in many. If the square root of 200 times all documents does not suffice, the word is so rare that the index
 * of words costs less.
 */
export async function findMatching(sql: Sql, scope: Scope, wanted: Wanted): Promise<FoundDocument[]> {
  const { whole, allInTitle, someInTitle } = conditionsOf(wanted.query)
  const count = Math.ceil(Math.max(minRead, Math.sqrt(maxHits * scope.documents)))
  const isWanted = sql`kind = any(${wanted.types}::text[]) and ts_match_vq(doc, ${whole}::tsquery)`
  const best = (rows: SqlPart) =>
    unprepared(sql<FoundDocument[]>`
    select id, kind, at, case when doc @@ ${allInTitle}::tsquery then 1 when doc @@ ${someInTitle}::tsquery then 2
      when kind = 'comment' then 3 else 4 end as rank
    from (select * from ${rows} s where ${isWanted} order by at desc, id desc limit ${maxHits}) s`)
  if (scope.projectIds.length <= maxMerged) {
    const newest = await best(newestOf(sql, scope, wanted, count))
    if (newest.length === maxHits || (await isAll(sql, scope, wanted, count))) return newest
  }
  // The offset keeps Postgres from reading all documents in the order of time.
  return best(sql`(select id, kind, at, doc from search_documents where doc @@ ${indexQuery(wanted.query)}::tsquery
    and project_id = any(${scope.projectIds}::uuid[]) and ${upTo(sql, wanted)} and ${isWanted} offset 0)`)
}

/** True if the scope has no other documents than the newest. */
async function isAll(sql: Sql, scope: Scope, wanted: Wanted, count: number): Promise<boolean> {
  if (scope.documents > 2 * count) return false
  const rest = await unprepared(sql`select from ${newestOf(sql, scope, wanted, count + 1)} s offset ${count}`)
  return rest.length === 0
}

/** A later page ignores documents that were created after the first page. */
const upTo = (sql: Sql, { newest }: Wanted): SqlPart =>
  newest ? sql`(at, id) <= (${newest.at}::text::timestamptz, ${newest.id}::uuid)` : sql`true`

/** SQL for the newest documents of all projects, which Postgres merges from the index of each project. */
const newestOf = (sql: Sql, { projectIds }: Scope, wanted: Wanted, count: number): SqlPart => {
  const ofProject = (id: string) => `(select id, kind, at, title, doc from search_documents
    where project_id = '${id}' order by at desc, id desc)`
  const all = projectIds.length > 0 ? projectIds.slice(0, maxMerged) : [nilId]
  return sql`(select * from (${sql.unsafe(all.map(ofProject).join(' union all '))}) a where ${upTo(sql, wanted)}
    order by at desc, id desc limit ${count})`
}

/** SQLSTATE of a function that does not exist: without the extension pg_trgm there are no similar titles. */
const undefinedFunction = '42883'

/** Returns titles with words that are similar to the words of the search. A smaller rank means more similar. */
export async function findSimilar(sql: Sql, scope: Scope, wanted: Wanted): Promise<FoundDocument[]> {
  const words = comparableWords(wanted.query).slice(0, maxComparedWords)
  if (words.length === 0) return []
  const excluded = wanted.query.excluded.map((term) => termQuery(term)).join(' | ')
  return unprepared(sql<FoundDocument[]>`
    with titles as materialized (
      select id, kind, at, title, ${excluded ? sql`doc` : sql`null::tsvector as doc`} from ${newestOf(sql, scope, wanted, maxTitles)} n
      where title is not null and kind = any(${wanted.types}::text[])),
    alike as materialized (
      select word, n, similarity(word, searched)::float8 as similarity
      from (select distinct word from titles, string_to_table(title, ' ') word) w,
        unnest(${words}::text[]) with ordinality q(searched, n)
      where similarity(word, searched) >= ${minSimilarity}),
    best as (
      select t.id, s.n, max(s.similarity) as similarity, array_agg(s.word) as words
      from titles t cross join string_to_table(t.title, ' ') w(word) join alike s using (word)
      where ${excluded ? sql`not doc @@ ${excluded}::tsquery` : sql`true`} group by 1, 2)
    select t.id, t.kind, t.at, round((1 - sum(b.similarity) / ${words.length}::int4)::numeric, 4)::float8 as rank,
      string_to_array(string_agg(array_to_string(b.words, ' '), ' '), ' ') as "similar"
    from best b join titles t using (id) group by 1, 2, 3 order by 4, 3 desc, 1 desc limit ${maxHits}`).catch(
    (error: unknown) => {
      if (errorCode(error) === undefinedFunction) return []
      throw error
    },
  )
}
