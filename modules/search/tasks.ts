import type { Caller } from '../../src/identity/rights.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'
import type { Services } from '../../src/services.ts'
import { findNamed, mayMatch } from './find.ts'
import { openScope, poolFor, withIndexed } from './routes.ts'
import { type SearchQuery, type Term, termQuery } from './text/query.ts'
import type { Scope } from './up-to-date.ts'

/** The maximum number of ids of a list that first finds its tasks. */
const maxFoundTasks = 2_000
/** The maximum number of terms that are looked up to find a term that few tasks contain. */
const maxLookedUp = 4

/** Either the ids of all tasks that match, or, for many tasks, the condition that a list checks for each task. */
type MatchingTasks = { foundIds: string[] } | { matching: Matching }

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

/** Finds the tasks whose texts hold every term and no excluded term. A term that few documents hold selects tasks first. */
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
    const ids = [...new Set(rows.flatMap(({ taskId }) => taskId ?? []))]
    const few = await unprepared(sql<{ id: string }[]>`
      select id from unnest(${ids}::uuid[]) t(id) where ${matchesTask(sql, sql`t.id`, matching)}`)
    return { foundIds: [...new Set([...knownIds, ...few.map(({ id }) => id)])] }
  }
  return { matching }
}

/** SQL that is true if the documents of a task together hold every term, and none holds an excluded term. */
export function matchesTask(sql: Sql, id: SqlPart, { query, projectIds }: Matching): SqlPart {
  // `offset 0` makes Postgres read the documents of the task, not once all documents with the term. The function
  // `ts_match_vq` is `@@`, but never a look-up in the index of words.
  const exists = (text: string) => sql`exists (select from search_documents s where s.task_id = ${id}
    and s.project_id = any(${projectIds}::uuid[]) and ts_match_vq(s.doc, ${text}::tsquery) offset 0)`
  const all = query.terms.map((term) => exists(termQuery(term)))
  const excluded = query.excluded.map((term) => sql`not ${exists(termQuery(term))}`)
  return [...all, ...excluded].reduce((some, one) => sql`${some} and ${one}`)
}
