import type { Snapshot } from '../../src/log/as-of.ts'
import { type At, rowSources, unionOf } from '../../src/log/rows-at.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'

interface ReadyOptions {
  /** Tasks that this account has claimed count as ready too. */
  holder?: string
  snapshot?: Snapshot
}

/** SQL that is true if the task is not DONE, nobody else has claimed the task, and no blocker is left to do. */
export const isReady = (sql: Sql, alias: string, { holder, snapshot }: ReadyOptions = {}): SqlPart => {
  const column = (name: string) => sql(`${alias}.${name}`)
  const isOwn = holder === undefined ? sql`` : sql`or ${column('claimed_by')} = ${holder}`
  const hasEnded = snapshot ? sql`` : sql`or ${column('claimed_until')} <= now()`
  return sql`(${column('status')} <> 'DONE' and (${column('claimed_by')} is null ${hasEnded} ${isOwn})
    and ${isUnblocked(sql, alias, snapshot)})`
}

/** SQL that is true if no blocker is left to do. Blockers that are deleted, or in another project, block nothing. */
export function isUnblocked(sql: Sql, alias: string, snapshot?: At): SqlPart {
  // `offset 0` keeps Postgres from reading all tasks of the project.
  const blockerIn = (source: SqlPart) =>
    sql`(select project_id, status from ${source} s where s.id = x.id offset 0)`
  const blocker = unionOf(sql, rowSources(sql, 'task', snapshot, sql`x.id`), blockerIn)
  const ids = sql(`${alias}.blocked_by_ids`)
  return sql`(${ids} is null or not exists (
    select from unnest(${ids}) x(id) cross join lateral (${blocker}) b
    where b.project_id = ${sql(`${alias}.project_id`)} and b.status <> 'DONE'))`
}
