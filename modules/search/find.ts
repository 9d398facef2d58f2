import type { Caller } from '../../src/identity/rights.ts'
import type { Services } from '../../src/services.ts'
import { ownIteration } from '../../src/admission/expensive.ts'
import { canonicalId, isId, nilId } from '../../src/id-format.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { errorCode } from '../../src/postgres/errors.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'
import { visibleProject } from '../../src/reads/visible.ts'
import {
  compareHits,
  compareTimes,
  type Hit,
  type HitKey,
  type HitType,
  type SearchRequest,
} from './schema.ts'
import {
  conditionsOf,
  indexQuery,
  isComparable,
  type SearchQuery,
  snippetOf,
  type Term,
  termOf,
  termQuery,
} from './text.ts'
import { taskText } from './indexing.ts'
import { openScope, poolFor, type Scope, withIndexed } from './up-to-date.ts'

/** The hits of a search are the newest documents that match: at most this many. */
export const maxHits = 200
/** Similar titles are searched among this many of the newest documents. */
const maxTitles = 20_000
/** The maximum number of words of a search that are compared with titles. */
const maxComparedWords = 4
const minSimilarity = 0.3
/** The minimum number of the newest documents that a search reads before it uses the index of words. */
const minRead = 4_000
/**
 * A search through at most this number of documents, and at most `minRead` for each project, looks up no prefixes:
 * reading 100,000 documents takes less than 0.1 s, and looking up a prefix takes 10 ms for each project.
 */
const maxRead = 100_000
/** Postgres plans a statement with more projects too slowly. */
const maxMerged = 1_000

interface FoundDocument extends HitKey {
  kind: HitType
  /** The words of a title that are most similar to the words of the search. */
  similar?: string[]
}

type Wanted = Pick<SearchRequest, 'query' | 'types' | 'newest'>

/** Returns the rows whose id or external id is the whole query. */
const findNamed = (sql: Sql, projectIds: string[], text: string, types: readonly HitType[]) => {
  const id = canonicalId(text)
  return unprepared(sql<FoundDocument[]>`
    select s.id, s.kind, s.at, 0 as rank from search_documents s
    where s.id = any(array(select t.id from tasks t where t.project_id = any(${projectIds}::uuid[]) and t.external_id = ${text})
        || ${isId(id) ? id : nilId}::uuid)
      and s.project_id = any(${projectIds}::uuid[]) and s.kind = any(${types}::text[]) and s.doc is not null
    order by s.at desc, s.id desc limit ${maxHits}`)
}

/** SQL that is true for all documents of a scope with the terms, perhaps also for documents without the terms that are prefixes. */
function mayMatch(sql: Sql, { projectIds, documents }: Scope, terms: Term[]): SqlPart {
  const isSmall = documents <= Math.min(maxRead, minRead * projectIds.length)
  const text = documents > minRead ? indexQuery(terms, isSmall) : undefined
  const inScope = sql`project_id = any(${projectIds}::uuid[])`
  if (text) return sql`${inScope} and doc @@ ${text}::tsquery`
  return sql`${inScope} and ts_match_vq(doc, ${terms.map((term) => termQuery(term)).join(' & ')}::tsquery)`
}

/**
 * Returns the newest documents that match. First reads only the newest documents, because a frequent word probably has
 * enough hits there. If they have too few hits, the word is rare, and the index of words costs less than reading more
 * documents.
 */
async function findMatching(sql: Sql, scope: Scope, wanted: Wanted): Promise<FoundDocument[]> {
  const { whole, allInTitle, someInTitle } = conditionsOf(wanted.query)
  const isWanted = sql`kind = any(${wanted.types}::text[]) and ts_match_vq(doc, ${whole}::tsquery)`
  const best = (rows: SqlPart) =>
    unprepared(sql<FoundDocument[]>`
    select id, kind, at, case when doc @@ ${allInTitle}::tsquery then 1 when doc @@ ${someInTitle}::tsquery then 2
      when kind = 'comment' then 3 else 4 end as rank
    from (select * from ${rows} s where ${isWanted} order by at desc, id desc limit ${maxHits}) s`)
  const count = Math.ceil(Math.max(minRead, Math.sqrt(maxHits * scope.documents)))
  if (scope.projectIds.length <= maxMerged && scope.documents > minRead) {
    const newest = await best(newestOf(sql, scope, wanted, count))
    if (newest.length === maxHits) return newest
  }
  // `offset 0` keeps Postgres from reading all documents in the order of time.
  return best(sql`(select id, kind, at, doc from search_documents where ${mayMatch(sql, scope, wanted.query.terms)}
    and ${upTo(sql, wanted)} and ${isWanted} offset 0)`)
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
async function findSimilar(sql: Sql, scope: Scope, wanted: Wanted): Promise<FoundDocument[]> {
  const all = wanted.query.terms.flatMap((term) => term.words.filter(isComparable))
  const words = [...new Set(all)].slice(0, maxComparedWords)
  if (words.length === 0) return []
  const excluded = wanted.query.excluded.map((term) => termQuery(term)).join(' | ')
  const isExcluded = excluded ? sql`doc @@ ${excluded}::tsquery` : sql`false`
  return unprepared(sql<FoundDocument[]>`
    with words as materialized (
      select id, kind, at, word from ${newestOf(sql, scope, wanted, maxTitles)} n cross join string_to_table(title, ' ') word
      where kind = any(${wanted.types}::text[]) and not ${isExcluded}),
    alike as materialized (
      select word, n, similarity(word, searched)::float8 as similarity
      from (select distinct word from words) w, unnest(${words}::text[]) with ordinality q(searched, n)
      where similarity(word, searched) >= ${minSimilarity})
    select id, kind, at, round((1 - sum(similarity) / ${words.length}::int4)::numeric, 4)::float8 as rank, array_agg(word) as "similar"
    from (select distinct on (id, n) * from words join alike using (word) order by id, n, similarity desc) best
    group by 1, 2, 3 order by 4, 3 desc, 1 desc limit ${maxHits}`).catch((error: unknown) => {
    if (errorCode(error) === undefinedFunction) return []
    throw error
  })
}

/** The snippets of long texts take half a millisecond each. */
const hitsOfIteration = 10

/**
 * Returns one page of the hits, ranked. A page is shorter than `limit` if rows disappeared while the search ran. If there is a
 * next page, `next` is the last document of the page and the newest of all documents found.
 */
export async function readHits(sql: Sql, userId: string, scope: Scope, wanted: SearchRequest) {
  const { after, limit, query } = wanted
  const [named, matching] = await Promise.all([
    findNamed(sql, scope.projectIds, query.text, wanted.types),
    query.terms.length > 0 ? findMatching(sql, scope, wanted) : [],
  ])
  const exact = [...new Map([...matching, ...named].map((one) => [one.id, one])).values()]
  const found = exact.length > 0 ? exact : await findSimilar(sql, scope, wanted)
  const ranked = found.toSorted(compareHits).filter((one) => !after || compareHits(one, after) > 0)
  const shown = ranked.slice(0, limit)
  const rows = await readLiveRows(sql, userId, scope, shown)
  const hits: Hit[] = []
  for (const [n, one] of shown.entries()) {
    const row = rows.get(one.id)
    if (row) hits.push(hitOf(row, one, wanted))
    if ((n + 1) % hitsOfIteration === 0) await ownIteration(userId)
  }
  const newest = wanted.newest ?? found.toSorted(compareTimes)[0]
  return { hits, next: ranked.length > limit ? [shown.at(-1)!, newest!] : undefined }
}

/** The fields that a hit shows of its row. `text` is the description or the comment. */
type LiveRow = Omit<Hit, 'snippet' | 'fuzzy'> & { text: string | null }

/** Reads the rows of documents, as far as they exist now and the user may see their projects now. */
async function readLiveRows(sql: Sql, userId: string, { projectIds }: Scope, found: FoundDocument[]) {
  const ids = (kind: string) => sql`${found.filter((one) => one.kind === kind).map(({ id }) => id)}::uuid[]`
  // `offset 0` keeps Postgres from reading all tasks of a project to find the tasks of comments.
  const rows = await unprepared(sql<LiveRow[]>`
    select r.* from (
      select 'task' as type, t.id, t.project_id, t.id as task_id, t.title, ${sql.unsafe(taskText)} as text
        from tasks t where t.id = any(${ids('task')})
      union all select 'comment', c.id, t.project_id, t.id, t.title, c.text
        from comments c join tasks t on t.id = c.task_id where c.id = any(${ids('comment')})
      union all select 'project', p.id, p.id, null, p.name, p.description
        from projects p where p.id = any(${ids('project')}) offset 0) r
    cross join lateral ${visibleProject(sql, sql`r.project_id`, sql`${userId}`)} v
    where r.project_id = any(${projectIds}::uuid[])`)
  return new Map(rows.map((row) => [row.id, row]))
}

function hitOf({ text, ...row }: LiveRow, { similar }: FoundDocument, { query }: SearchRequest): Hit {
  const terms = similar ? similar.map((word) => termOf([word])) : query.terms
  const ofText = text !== null && !similar ? snippetOf(text, terms) : undefined
  const snippet = ofText && ofText.matches.length > 0 ? ofText : snippetOf(row.title, terms)
  return { ...row, snippet, ...(similar && { fuzzy: true as const }) }
}

/** The maximum number of ids of a list that first finds its tasks. */
const maxFoundTasks = 2_000
/** The maximum number of terms that are looked up to find a term that few tasks contain. */
const maxLookedUp = 4

/** A condition that a list checks for each task and, unless many tasks may match, the ids of these tasks. */
interface MatchingTasks {
  foundIds?: string[]
  matching?: Matching
}

export interface Matching {
  query: SearchQuery
  projectIds: string[]
  knownIds: string[]
}

type Respond = (found: MatchingTasks, scope: Scope) => Promise<Response>

/** Returns a function that finds the tasks of a list with `q`, in one project or in all projects of the caller. */
export function openTaskSearch(services: Services) {
  const inScope = openScope(services)
  return (caller: Caller, query: SearchQuery, projectId: string | undefined, respond: Respond) =>
    inScope(caller, projectId, async (scope) => {
      const found = await findMatchingTasks(poolFor(services, scope), query, scope)
      return withIndexed(await respond(found, scope), scope.indexed)
    })
}

/** A term in few documents selects the tasks that may contain every term and no excluded term. */
async function findMatchingTasks(sql: Sql, query: SearchQuery, scope: Scope): Promise<MatchingTasks> {
  const { projectIds } = scope
  const knownIds = (await findNamed(sql, projectIds, query.text, ['task'])).map(({ id }) => id)
  const matching = { query, projectIds, knownIds }
  if (query.terms.length === 0) return { foundIds: knownIds }
  // Long words tend to be rare.
  const length = ({ words, isPrefix }: Term) => (isPrefix ? 0 : words.join().length)
  const terms = query.terms.toSorted((a, b) => length(b) - length(a))
  for (const term of terms.slice(0, maxLookedUp)) {
    const rows = await unprepared(sql<{ taskId: string }[]>`
      select task_id from search_documents where ${mayMatch(sql, scope, [term])} limit ${maxFoundTasks + 1}`)
    if (rows.length > maxFoundTasks) continue
    return { foundIds: [...new Set([...knownIds, ...rows.flatMap(({ taskId }) => taskId ?? [])])], matching }
  }
  return { matching }
}

/** SQL that is true if the documents of a task `t` together contain every term, and none contains an excluded term. */
export function matchesTask(sql: Sql, { query, projectIds, knownIds }: Matching): SqlPart {
  // `offset 0` makes Postgres read the documents of the task, not once all documents with the term. The function
  // `ts_match_vq` is `@@`, but never a look-up in the index of words.
  const exists = (text: string) => sql`exists (select from search_documents s where s.task_id = t.id
    and s.project_id = any(${projectIds}::uuid[]) and ts_match_vq(s.doc, ${text}::tsquery) offset 0)`
  const all = query.terms.map((term) => exists(termQuery(term)))
  const excluded = query.excluded.map((term) => sql`not ${exists(termQuery(term))}`)
  const conditions = [...all, ...excluded].reduce((some, one) => sql`${some} and ${one}`)
  return sql`(t.id = any(${knownIds}::uuid[]) or ${conditions})`
}
