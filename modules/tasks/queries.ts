import type { TaskRow } from '../../drizzle/rows.ts'
import { batched } from '../../src/postgres/batch.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { byOrdinal } from '../../src/postgres/in-order.ts'
import { readRows } from '../../src/postgres/delimited-rows.ts'
import { type Versioned, type Versions, whileUnchanged } from '../../src/reads/versions.ts'

/** What of a task a read must know before it looks for a body: where it is, and what it and its project are at. */
export interface SeenTask extends Versioned {
  eventId: string
}

export type SeeTask = (key: { userId: string; taskId: string }) => Promise<SeenTask | undefined>

/** Tasks as their callers see them, many in one query; undefined where the caller is a stranger to the project. */
export function openSeenTasks(sql: Sql, versions: Versions): SeeTask {
  const look: SeeTask = batched({ keys: 500, slots: 2 }, async (keys) => {
    const [row] = await sql<{ seen: string | null }[]>`
      select string_agg(concat_ws(' ', q.n, t.project_id, s.version, s.last_event_id, t.event_id), ',') as seen
      from unnest(${keys.map((k) => k.taskId)}::uuid[], ${keys.map((k) => k.userId)}::uuid[])
        with ordinality q(task_id, user_id, n)
      join tasks t on t.id = q.task_id
      join projects p on p.id = t.project_id
      join streams s on s.project_id = t.project_id
      left join members m on m.project_id = p.id and m.user_id = q.user_id
      where p.owner_id = q.user_id or m.id is not null`
    return readRows(keys.length, row?.seen ?? null, (fields) => {
      const [projectId, version, lastEventId, eventId] = fields as [string, string, string, string]
      return { projectId, version: Number(version), lastEventId, eventId }
    })
  })
  return whileUnchanged(versions, ({ userId, taskId }) => userId + taskId, look)
}

/**
 * Tasks for their callers, many in one query. Asks once more whether they may see them, in the same moment: between
 * two queries a task may move to where its caller is a stranger.
 */
export function openTasks(sql: Sql) {
  return batched({ keys: 500, slots: 2 }, async (keys: { userId: string; taskId: string }[]) => {
    const rows = await sql<(TaskRow & { n: number })[]>`
      select q.n::int4 as n, t.*
      from unnest(${keys.map((k) => k.taskId)}::uuid[], ${keys.map((k) => k.userId)}::uuid[])
        with ordinality q(task_id, user_id, n)
      join tasks t on t.id = q.task_id
      join projects p on p.id = t.project_id
      left join members m on m.project_id = p.id and m.user_id = q.user_id
      where p.owner_id = q.user_id or m.id is not null`
    return byOrdinal(keys.length, rows)
  })
}
