import type { Sql } from '../postgres/database.ts'
import { Overtaken } from '../log/overtaken.ts'

/** Later events that are looked at for those that are in the way, and named, at most. */
const mostLooked = 10_000
const mostNamed = 20

/** Adds the seqs of conflicting events to the error of an undo: read after the whole batch is committed. */
export const openNaming =
  (sql: Sql) =>
  async (error: unknown): Promise<never> => {
    if (!(error instanceof Overtaken)) throw error
    const { event, fields, undone } = error
    throw new Overtaken(event, fields, undone, await laterThan(sql, error))
  }

async function laterThan(sql: Sql, { event, fields, undone }: Overtaken): Promise<number[]> {
  const { projectId, entityId, taskId, seq, id } = event
  const later = taskId
    ? sql`task_id = ${taskId} and id > ${id}`
    : sql`project_id = ${projectId} and seq > ${seq}`
  const whole = fields.length === 0
  const { userId = null } = (event.before ?? {}) as { userId?: string }
  // A task that went took what hung on it along; and it cannot be taken away with what was added since.
  const rows = await sql<{ seq: number }[]>`
    select seq::float8 as seq from (
      select * from events where ${later} order by ${taskId ? sql`id` : sql`seq`} limit ${mostLooked}) e
    where project_id = ${projectId} and not seq = any(${undone}::bigint[]) and (
      entity_id = ${entityId} and (before is null or after is null or ${whole} or before ?| ${fields}::text[])
      or entity_id = ${taskId} and after is null or task_id = ${entityId} and ${whole}
      or entity = 'member' and after ->> 'userId' = ${userId} and ${whole})
    order by seq limit ${mostNamed}`
  return rows.map((row) => row.seq)
}
