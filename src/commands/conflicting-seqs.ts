import { isRespacingSql } from '../../drizzle/schema/log.ts'
import type { Sql } from '../postgres/database.ts'
import { UndoConflict } from '../log/undo-limits.ts'

const maxSearched = 10_000
const maxNamed = 20

/** Adds the seqs of conflicting events to the error of an undo. Runs after the commit of the actor's commands. */
export const openAddConflictingSeqs =
  (sql: Sql) =>
  async (error: unknown): Promise<never> => {
    if (!(error instanceof UndoConflict)) throw error
    const { event, fields, undone } = error
    throw new UndoConflict(event, fields, undone, await conflictingSeqs(sql, error))
  }

async function conflictingSeqs(sql: Sql, { event, fields, undone }: UndoConflict): Promise<number[]> {
  const { projectId, entityId, taskId, seq, id } = event
  const later = taskId
    ? sql`task_id = ${taskId} and id > ${id}`
    : sql`project_id = ${projectId} and seq > ${seq}`
  const whole = fields.length === 0
  const { userId = null } = (event.before ?? {}) as { userId?: string }
  // A task's deletion conflicts with a change of the task's subtasks or comments, whichever event was first.
  const rows = await sql<{ seq: number }[]>`
    select seq::float8 as seq from (
      select * from events where ${later} order by ${taskId ? sql`id` : sql`seq`} limit ${maxSearched}) e
    where project_id = ${projectId} and not seq = any(${undone}::bigint[])
      and not (${sql.unsafe(isRespacingSql())}) and (
      entity_id = ${entityId} and (before is null or after is null or ${whole} or before ?| ${fields}::text[])
      or entity_id = ${taskId} and after is null or task_id = ${entityId} and ${whole}
      or entity = 'member' and after ->> 'userId' = ${userId} and ${whole})
    order by seq limit ${maxNamed}`
  return rows.map((row) => row.seq)
}
