import { unprepared } from '../../src/postgres/timeouts.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { indexWordsOf, joined } from './conditions.ts'
import { allDocuments, ofProjects, samplePerProject } from './documents.ts'
import { planRareWord } from './cost/estimate.ts'
import { kinds } from './indexing/rows.ts'
import { findKnownRows } from './known-rows.ts'
import type { IndexWord, LookUp } from './cost/look-up.ts'
import { readSizes } from './cost/sizes.ts'
import { type SearchQuery, termQuery } from './text/query.ts'

/** The most ids of a list that first finds its tasks. */
const maxFoundTasks = 2_000
/** If each word is more frequent among the newest documents, the list checks each task. */
const maxFrequency = 0.02

/** Either the ids of all tasks that match, or, for many tasks, the condition that a list checks for each task. */
export type MatchingTasks = { foundIds: string[] } | { matching: Matching }

export interface Matching {
  query: SearchQuery
  projectIds: string[]
  knownIds: string[]
}

/**
 * Finds the tasks that hold every term in their title, description, comments or subtasks, and no excluded term. Small
 * projects are read as a whole. In larger ones, the rarest term selects tasks, and the other terms are checked for each.
 */
export async function findMatchingTasks(
  sql: Sql,
  query: SearchQuery,
  projectIds: string[],
): Promise<MatchingTasks> {
  const known = await findKnownRows(sql, { projectIds, kinds: [kinds.task] }, query.text)
  const knownIds = known.map(({ id }) => id)
  const few = query.terms.length > 0 ? await findFew(sql, query, projectIds) : []
  if (!few || few.length > maxFoundTasks) return { matching: { query, projectIds, knownIds } }
  return { foundIds: [...new Set([...knownIds, ...few])] }
}

/** Returns the ids of the tasks that match; undefined if there may be too many. */
async function findFew(sql: Sql, query: SearchQuery, projectIds: string[]): Promise<string[] | undefined> {
  const words = indexWordsOf(query)
  const read = (most: number) =>
    unprepared(sql<TaskSample[]>`${sampleOf(sql, query, words, projectIds, most)}`).then(([row]) => row!)
  const { isCut, documents, counts, ids } = await read(samplePerProject(projectIds))
  if (!isCut) return ids
  const sizes = await readSizes(sql, projectIds, words)
  const plan = planRareWord(words, { documents, words: counts.map(Number) }, sizes, maxFrequency)
  if (!plan) return undefined
  if (plan.readsAll) return (await read(allDocuments)).ids
  const rows = await unprepared(sql<{ taskId: string | null }[]>`
    ${byWord(sql, query, plan, projectIds)}`)
  return rows.some(({ taskId }) => taskId === null) ? undefined : rows.map(({ taskId }) => taskId!)
}

interface TaskSample {
  isCut: boolean
  documents: number
  /** How many documents contain each word. */
  counts: string[]
  /** The tasks that match, if no project has more documents. */
  ids: string[]
}

const holds = (sql: Sql, text: string) => sql`s.doc @@ ${text}::tsquery`
const excludedBy = ({ excluded }: SearchQuery) => excluded.map((term) => termQuery(term)).join(' | ')

function sampleOf(
  sql: Sql,
  query: SearchQuery,
  words: IndexWord[],
  projectIds: string[],
  perProject: number,
): SqlPart {
  const excluded = excludedBy(query)
  const list = (parts: SqlPart[]) => sql`array[${joined(sql, parts, sql`,`)}]`
  const has = words.map((_, n) => sql`count(*) filter (where has[${n + 1}::int])::text`)
  const all = query.terms.map((_, n) => sql`bool_or(fits[${n + 1}::int])`)
  return sql`
    with newest as materialized (
      select p.id as project_id, s.* from unnest(${projectIds}::uuid[]) p(id)
      cross join lateral (
        select s.task_id, ${list(query.terms.map((term) => holds(sql, termQuery(term))))} as fits,
          ${list(words.map(({ text }) => holds(sql, text)))} as has,
          ${excluded ? holds(sql, excluded) : sql`false`} as is_excluded
        from search s where s.project_id = p.id
        order by s.at desc, s.id desc limit ${perProject}) s)
    select exists (select from newest group by project_id having count(*) = ${perProject}) as is_cut,
      count(*)::int as documents, ${list(has)} as counts,
      array(select task_id from newest where task_id is not null group by project_id, task_id
        having not bool_or(is_excluded) and ${joined(sql, all, sql`and`)}) as ids
    from newest`
}

/** SQL for the tasks that match; null if too many documents contain the word. */
const byWord = (sql: Sql, query: SearchQuery, { lookUp, byProject }: LookUp, projectIds: string[]) => sql`
  with found as materialized (
    select s.task_id from search s where ${holds(sql, lookUp)} and ${ofProjects(sql, projectIds, byProject)}
      and s.task_id is not null limit ${maxFoundTasks + 1}),
  few as materialized (select count(*) <= ${maxFoundTasks} as so from found)
  select null::uuid as task_id from few where not so
  union all
  select f.task_id from (select distinct task_id from found where (select so from few)) f
  where ${matchesTask(sql, sql`f.task_id`, { query, projectIds })}`

/**
 * SQL that is true if the documents of a task together hold every term, and none holds an excluded term. A task that
 * moved during the search may have its documents in any of the searched projects.
 */
export function matchesTask(
  sql: Sql,
  id: SqlPart,
  { query, projectIds }: Omit<Matching, 'knownIds'>,
): SqlPart {
  // `offset 0` makes Postgres read the documents of the task, not once all documents with the term. The function
  // `ts_match_vq` is `@@`, but never a look-up in the index of words.
  const exists = (text: string) => sql`exists (select from search s where s.task_id = ${id}
    and s.project_id = any(${projectIds}::uuid[]) and ts_match_vq(s.doc, ${text}::tsquery) offset 0)`
  const excluded = excludedBy(query)
  const all = query.terms.map((term) => exists(termQuery(term)))
  return joined(sql, excluded ? [...all, sql`not ${exists(excluded)}`] : all, sql`and`)
}
