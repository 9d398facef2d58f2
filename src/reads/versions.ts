import type { Distribution } from '../metrics/distribution.ts'
import { nilId } from '../ids.ts'
import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { lastRenaming } from './names.ts'

const idLength = nilId.length

/** What was seen in a project, and the version that the project had in the same moment. */
export interface Versioned {
  projectId: string
  version: number
  /** The event that made the version: after a restore another one may have the same number. */
  lastEventId: string
  /** The last change of any name, where names were seen. */
  renaming?: string
}

/** The ETag of what a project shows at this version, to everybody or to those that `whose` names. */
export const etagAt = ({ version, lastEventId }: Versioned, whose = ''): string =>
  `"${version}-${lastEventId}${whose}"`

export type Versions = ReturnType<typeof openVersions>

/** Compares with the current versions of projects, and follows the own commits of the process. */
export function openVersions(
  sql: Sql,
  { follow }: { follow<S extends Versioned>(seen: S, id: string): S },
  waits?: Distribution,
) {
  const lastRenamed = lastRenaming(sql)
  return {
    follow,
    /**
     * True when project and names are still as they were then; a missing project has version 0. Many are compared in one
     * query. A join in place of the array would read every project where there are few, and cost half as much again.
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
