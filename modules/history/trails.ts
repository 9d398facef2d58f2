import type { Caller } from '../../src/identity/caller.ts'
import { reaches } from '../../src/identity/scopes.ts'
import { batched } from '../../src/postgres/batch.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { readRows } from '../../src/postgres/delimited-rows.ts'
import { lastRenaming } from '../../src/reads/names.ts'
import { type Versioned, type Versions, whileUnchanged } from '../../src/reads/versions.ts'

/** The project that a task is in, or was in when it was deleted, and the others that it came through. */
export interface Trail extends Versioned {
  renaming: string
  others: string[]
}

export type SeeTrail = (caller: Caller, taskId: string) => Promise<Trail | undefined>

interface Key {
  userId: string
  taskId: string
}

/**
 * Where tasks have been, for many requests in one query; undefined where the caller or their token is a stranger to the last of it. It
 * stays so until that project moves on.
 */
export function openSeeTrail(sql: Sql, versions: Versions): SeeTrail {
  const look = batched({ keys: 500, slots: 2 }, async (keys: Key[]): Promise<(Trail | undefined)[]> => {
    const [row] = await sql<{ seen: string | null; renaming: string }[]>`
      select ${lastRenaming(sql)} as renaming,
        string_agg(concat_ws(' ', q.n, s.project_id, s.version, s.last_event_id, o.others), ',') as seen
      from unnest(${keys.map((k) => k.taskId)}::uuid[], ${keys.map((k) => k.userId)}::uuid[])
        with ordinality q(task_id, user_id, n)
      cross join lateral (${place(sql)}) w
      cross join lateral (${left(sql)}) o
      join projects p on p.id = w.project_id
      join streams s on s.project_id = w.project_id
      left join members m on m.project_id = p.id and m.user_id = q.user_id
      where p.owner_id = q.user_id or m.id is not null`
    return readRows(keys.length, row?.seen ?? null, (fields) => {
      const [projectId, version, lastEventId, ...others] = fields as [string, string, string, ...string[]]
      return { projectId, version: Number(version), lastEventId, renaming: row!.renaming, others }
    })
  })
  const see = whileUnchanged(versions, ({ userId, taskId }: Key) => userId + taskId, look)
  return async (caller, taskId) => {
    const trail = await see({ userId: caller.userId, taskId })
    return trail && reaches(caller, trail.projectId) ? trail : undefined
  }
}

/** Where the task is, else where it was last; nowhere when it went on to what is gone by now. */
const place = (sql: Sql) => sql`
  select coalesce((select project_id from tasks where id = q.task_id),
    (select case when type <> 'task.moved_out' then project_id end
      from events where task_id = q.task_id order by id desc limit 1)) as project_id`

/** The projects that the task left, but for that one: of each the next by the index. */
const left = (sql: Sql) => sql`
  with recursive way(project_id) as (
    (select project_id from events
      where task_id = q.task_id and type = 'task.moved_out' order by project_id limit 1)
    union all
    select (select e.project_id from events e
      where e.task_id = q.task_id and e.type = 'task.moved_out' and e.project_id > way.project_id
      order by e.project_id limit 1) from way where way.project_id is not null)
  select string_agg(way.project_id::text, ' ') as others from way where way.project_id <> w.project_id`
