import type { TaskRow } from '../../drizzle/rows.ts'
import { type Caller, reaches } from '../../src/identity/rights.ts'
import { shownColumns, shownEventId } from '../../src/log/rows-at.ts'
import { batched } from '../../src/postgres/batch.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { byOrdinal } from '../../src/postgres/in-order.ts'
import { type LookUp, openLookUp } from '../../src/reads/lookups.ts'
import type { Versioned, Versions } from '../../src/reads/versions.ts'
import { type Pair, pairsOf, visibleProject } from '../../src/reads/visible.ts'

/** What a read must know of a task before it looks for a body: its project, and the last event of both. */
export interface SeenTask extends Versioned {
  eventId: string
}

export type SeeTask = LookUp<SeenTask>

/** Finds tasks as their callers see them right now. */
export const openSeenTasks = (sql: Sql, versions: Versions): SeeTask =>
  openLookUp(sql, versions, {
    joins: sql`join tasks t on t.id = q.id`,
    projectId: sql`t.project_id`,
    columns: shownEventId(sql, 'task', 't'),
    // Without `renaming`: a task shows no names.
    make: ({ projectId, version, lastEventId }, [eventId]) => {
      return { projectId, version, lastEventId, eventId: eventId! }
    },
  })

/**
 * Reads tasks, many in one query, and checks again in it that their callers may see them: after the first check a task may
 * have moved to another project.
 */
export function openTasks(sql: Sql) {
  const find = batched({ keys: 500, slots: 2 }, async (pairs: Pair[]) => {
    const rows = await sql<(TaskRow & { n: number })[]>`
      select q.n::int4 as n, ${shownColumns(sql, 'task', 't')} from ${pairsOf(sql, pairs)} join tasks t on t.id = q.id
      cross join lateral ${visibleProject(sql, sql`t.project_id`, sql`q.user_id`)} p`
    return byOrdinal(pairs.length, rows)
  })
  return async (caller: Caller, id: string) => {
    const task = await find({ userId: caller.userId, id })
    return task && reaches(caller, task.projectId) ? task : undefined
  }
}
