import type { Distribution } from '../metrics/distribution.ts'
import { nilId } from '../ids.ts'
import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { lastRenaming } from './names.ts'

const idLength = nilId.length

export interface Versioned {
  projectId: string
  version: number
  /** The event whose seq is `version`. After a restore, another event may have this seq. */
  lastEventId: string
  /** The id of the last change of any account's name, if names were read. */
  renaming?: string
}

/** Returns the ETag of a project's content at a version. `suffix` distinguishes callers who see different content. */
export const etagAt = ({ version, lastEventId }: Versioned, suffix = ''): string =>
  `"${version}-${lastEventId}${suffix}"`

export type Versions = ReturnType<typeof openVersions>

export function openVersions(
  sql: Sql,
  { advance: follow }: { advance<S extends Versioned>(seen: S, id: string): S },
  waits?: Distribution,
) {
  const lastRenamed = lastRenaming(sql)
  return {
    follow,
    /**
     * Returns true if neither the project's version nor any account's name has changed. A missing project has version
     * 0. One query compares many projects. With a join instead of the array, Postgres would read every project and take
     * 50 % longer.
     */
    isCurrent: batched({ keys: 500, slots: 1, waits }, async (seen: Versioned[]) => {
      const [row] = await sql<{ newest: string | null; renaming: string }[]>`
        select string_agg(project_id::text || last_event_id || version, ',') as newest, ${lastRenamed} as renaming
        from streams where project_id = any(${seen.map(({ projectId }) => projectId)}::uuid[])`
      const { newest, renaming } = row!
      const newestOf = new Map(newest?.split(',').map((ids) => [ids.slice(0, idLength), ids.slice(idLength)]))
      return seen.map((one) => {
        const isLast = (newestOf.get(one.projectId) ?? `${nilId}0`) === one.lastEventId + one.version
        return isLast && (one.renaming ?? renaming) === renaming
      })
    }),
  }
}
