import type { Snapshot } from '../../src/log/as-of.ts'
import { type At, rowSources, unionOf } from '../../src/log/rows-at.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'

interface ReadyOptions {
  /** Tasks that this account has claimed count as ready too. */
  holder?: string
  snapshot?: Snapshot
}

/** SQL that is true if the task `t` is not DONE, nobody else has claimed the task, and no blocker is left to do. */
export function isReady(sql: Sql, { holder, snapshot }: ReadyOptions = {}): SqlPart {
  const isOwn = holder === undefined ? sql`` : sql`or t.claimed_by = ${holder}`
  const hasEnded = snapshot ? sql`` : sql`or t.claimed_until <= now()`
  return sql`(t.status <> 'DONE' and (t.claimed_by is null ${hasEnded} ${isOwn}) and ${isUnblocked(sql, snapshot)})`
}

/** SQL that is true if no blocker of `t` is left to do. Blockers that are deleted, or in another project, block nothing. */
export function isUnblocked(sql: Sql, snapshot?: At): SqlPart {
  // `offset 0` keeps Postgres from reading all tasks of the project.
  const blockerIn = (source: SqlPart) =>
    sql`(select project_id, status from ${source} s where s.id = x.id offset 0)`
  return sql`(t.blocked_by_ids is null or not exists (
    select from unnest(t.blocked_by_ids) x(id)
    cross join lateral (${unionOf(sql, rowSources(sql, 'task', snapshot, sql`x.id`), blockerIn)}) b
    where b.project_id = t.project_id and b.status <> 'DONE'))`
}
