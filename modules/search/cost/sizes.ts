import { unprepared } from '../../../src/postgres/timeouts.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import { joined } from '../conditions.ts'
import type { IndexWord, Sizes } from './look-up.ts'

/** Returns how many documents the projects have, and how many documents of all projects contain each word. */
export async function readSizes(sql: Sql, projectIds: string[], words: IndexWord[]): Promise<Sizes> {
  const [counts, inAll] = await Promise.all([readCounts(sql, projectIds), estimateWords(sql, words)])
  const total = Math.max(counts.total, counts.inScope)
  return { ...counts, projects: projectIds.length, total, words: inAll }
}

type Counts = Pick<Sizes, 'inScope' | 'total' | 'unmerged'>

/** Each document has an event, so the version of a project is about the number of its documents. */
async function readCounts(sql: Sql, projectIds: string[]): Promise<Counts> {
  const [row] = await unprepared(sql<Counts[]>`
    select greatest(coalesce(sum(version), 0), 1)::float8 as in_scope,
      (select reltuples::float8 from pg_class where oid = 'search'::regclass) as total,
      (select coalesce(sum(rows), 0)::float8 from search_unmerged) as unmerged
    from streams where project_id = any(${projectIds}::uuid[])`)
  return row!
}

interface PlanNode {
  'Plan Rows': number
  Plans?: PlanNode[]
}

/** The planner knows the most frequent words of the table, and a limit for all others. It takes 0.1 ms a word (measured). */
async function estimateWords(sql: Sql, words: IndexWord[]): Promise<number[]> {
  const counts = words.map(({ text }) => sql`select from search s where s.doc @@ ${text}::tsquery`)
  const rows = await unprepared(sql<Record<string, [{ Plan: PlanNode }]>[]>`
    explain (format json) ${joined(sql, counts, sql`union all`)}`)
  const { Plan: plan } = Object.values(rows[0]!)[0]![0]
  const nodes = words.length === 1 ? [plan] : (plan.Plans ?? [])
  return words.map((_, n) => nodes[n]?.['Plan Rows'] ?? 0)
}
