import { batched } from '../postgres/batch.ts'
import type { Caller } from '../identity/caller.ts'
import { noHits } from '../metrics/counts.ts'
import type { Distribution } from '../metrics/distribution.ts'
import type { Role } from '../identity/roles.ts'
import { reaches } from '../identity/scopes.ts'
import type { Sql } from '../postgres/database.ts'
import { readRows } from '../postgres/delimited-rows.ts'
import { lastRenaming, nameTag } from './names.ts'
import { type Versioned, type Versions, whileUnchanged } from './versions.ts'

/** The project's version at the time of this request gives its lists their ETag. */
export interface Seen extends Versioned {
  role: Role
  renaming: string
  /** The event that last touched the project itself, and what tells its owner's name: its ETag. */
  eventId: string
  nameTag: string
}

export type FindRole = (caller: Caller, projectId: string) => Promise<Seen | undefined>

interface Key {
  userId: string
  projectId: string
}

/** What a caller is in a project right now, for many requests in one query; undefined for a stranger, and where their token does not reach. */
export function openFindRole(
  sql: Sql,
  versions: Versions,
  counts = noHits(),
  waits?: Distribution,
): FindRole {
  const look = batched({ keys: 500, slots: 2, waits }, async (keys: Key[]): Promise<(Seen | undefined)[]> => {
    const [row] = await sql<{ seen: string | null; renaming: string }[]>`
      select ${lastRenaming(sql)} as renaming,
        string_agg(concat_ws(' ', q.n, s.version, s.last_event_id, p.event_id, ${nameTag(sql)},
          case when p.owner_id = q.user_id then 'OWNER' else m.role end), ',') as seen
      from unnest(${keys.map((k) => k.projectId)}::uuid[], ${keys.map((k) => k.userId)}::uuid[])
        with ordinality q(project_id, user_id, n)
      join projects p on p.id = q.project_id
      join streams s on s.project_id = q.project_id
      left join users u on u.id = p.owner_id
      left join members m on m.project_id = q.project_id and m.user_id = q.user_id
      where p.owner_id = q.user_id or m.role is not null`
    return readRows(keys.length, row?.seen ?? null, (fields, n) => {
      const [version, lastEventId, eventId, nameTag] = fields as [string, string, string, string]
      const { projectId } = keys[n]!
      const { renaming } = row!
      const role = fields[4] as Role
      return { projectId, version: Number(version), lastEventId, renaming, eventId, nameTag, role }
    })
  })
  const nameOf = ({ userId, projectId }: Key) => userId + projectId
  const find = whileUnchanged(versions, nameOf, look, counts, (seen) => versions.follow(seen))
  return (caller, projectId) =>
    reaches(caller, projectId) ? find({ userId: caller.userId, projectId }) : Promise.resolve(undefined)
}
