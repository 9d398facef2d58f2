import { lastId } from '../../src/ids.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { Cut } from '../../src/reads/pages.ts'
import { lookedAt } from '../events/pages.ts'
import { withPeople } from '../events/people.ts'
import { eventColumns, isCutAt, readEvents } from '../events/rows.ts'
import type { ReadEvent } from '../events/views.ts'

interface WantedOfTask {
  taskId: string
  /** Those that the caller may read. */
  projectIds: string[]
  before: string | null
  limit: number
}

/**
 * A page of a task's history, by the ids of events: they grow along its way through projects. Of events that its caller
 * may not read, so many are passed over for one page.
 */
export async function taskEventsBack(
  sql: Sql,
  wanted: WantedOfTask,
): Promise<Cut<ReadEvent, { id: string }>> {
  const { taskId, projectIds, limit } = wanted
  const before = wanted.before ?? lastId
  const rows = await readEvents(
    sql,
    sql`select ${eventColumns(sql)} from (
      select * from events where task_id = ${taskId} and id < ${before} order by id desc limit ${lookedAt}) e
    where e.project_id = any(${projectIds}::uuid[]) order by e.id desc limit ${limit + 1}`,
  )
  const shown = rows.slice(0, limit)
  const last = isCutAt(rows, limit + 1) ? shown.at(-1)! : await passedOver(sql, taskId, before)
  return { shown: await withPeople(sql, shown), last }
}

/** The last event that was looked at, where there may be more behind it. */
async function passedOver(sql: Sql, taskId: string, before: string): Promise<{ id: string } | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select id from events where task_id = ${taskId} and id < ${before} order by id desc offset ${lookedAt - 1} limit 1`
  return row
}
