import { batched } from '../postgres/batch.ts'
import type { Standing } from '../identity/roles.ts'
import type { Sql } from '../postgres/database.ts'
import { unpack } from '../postgres/packed-rows.ts'
import { lastRenaming, nameTag } from './names.ts'
import { type Sight, type Versions, whileUnchanged } from './versions.ts'

/** The project's version at the time of this request gives its lists their ETag. */
export interface Seen extends Sight {
  standing: Standing
  renaming: string
  /** The event that last touched the project itself, and what tells its owner's name: its ETag. */
  eventId: string
  nameTag: string
}

export type FindStanding = (key: { userId: string; projectId: string }) => Promise<Seen | undefined>

/** What a user is in a project right now, for many requests in one query; undefined for a stranger. */
export function openStandings(sql: Sql, versions: Versions): FindStanding {
  const look: FindStanding = batched({ keys: 500, slots: 2 }, async (keys) => {
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
    return unpack(keys.length, row?.seen ?? null, (fields, n) => {
      const [version, lastEventId, eventId, nameTag] = fields as [string, string, string, string]
      const { projectId } = keys[n]!
      const { renaming } = row!
      const standing = fields[4] as Standing
      return { projectId, version: Number(version), lastEventId, renaming, eventId, nameTag, standing }
    })
  })
  return whileUnchanged(versions, ({ userId, projectId }) => userId + projectId, look)
}
