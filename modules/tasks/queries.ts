import type { TaskRow } from '../../drizzle/rows.ts'
import type { Caller } from '../../src/identity/caller.ts'
import { reaches } from '../../src/identity/scopes.ts'
import { batched } from '../../src/postgres/batch.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { byOrdinal } from '../../src/postgres/in-order.ts'
import { readRows } from '../../src/postgres/delimited-rows.ts'
import { type Versioned, type Versions, whileUnchanged } from '../../src/reads/versions.ts'
import { tasks } from '../../drizzle/schema/tasks.ts'
import { known } from '../../src/postgres/columns.ts'

/** What of a task a read must know before it looks for a body: where it is, and what it and its project are at. */
export interface SeenTask extends Versioned {
  eventId: string
}

export type SeeTask = (caller: Caller, taskId: string) => Promise<SeenTask | undefined>

interface Key {
  userId: string
  taskId: string
}

/** Tasks as their callers see them, many in one query; undefined where the caller or their token is a stranger to the project. */
export function openSeenTasks(sql: Sql, versions: Versions): SeeTask {
  const look = batched({ keys: 500, slots: 2 }, async (keys: Key[]): Promise<(SeenTask | undefined)[]> => {
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
  const nameOf = ({ userId, taskId }: Key) => userId + taskId
  const follow = (seen: SeenTask, { taskId }: Key) => versions.follow(seen, taskId)
  const see = whileUnchanged(versions, nameOf, look, undefined, follow)
  return (caller, taskId) => {
    const seen = see({ userId: caller.userId, taskId })
    return caller.token ? seen.then((one) => within(caller, one)) : seen
  }
}

/**
 * Tasks for their callers, many in one query. Asks once more whether they may see them, in the same moment: between
 * two queries a task may move to where its caller is a stranger.
 */
export function openTasks(sql: Sql) {
  const find = batched({ keys: 500, slots: 2 }, async (keys: Key[]) => {
    const rows = await sql<(TaskRow & { n: number })[]>`
      select q.n::int4 as n, ${known(sql, tasks, 't')}
      from unnest(${keys.map((k) => k.taskId)}::uuid[], ${keys.map((k) => k.userId)}::uuid[])
        with ordinality q(task_id, user_id, n)
      join tasks t on t.id = q.task_id
      join projects p on p.id = t.project_id
      left join members m on m.project_id = p.id and m.user_id = q.user_id
      where p.owner_id = q.user_id or m.id is not null`
    return byOrdinal(keys.length, rows)
  })
  return async (caller: Caller, taskId: string) =>
    within(caller, await find({ userId: caller.userId, taskId }))
}

/** What the caller's token reaches. */
const within = <T extends { projectId: string }>(caller: Caller, found?: T): T | undefined =>
  found && reaches(caller, found.projectId) ? found : undefined
