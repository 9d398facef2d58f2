import { LRUCache } from 'lru-cache'
import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import type { Distribution } from '../metrics/distribution.ts'
import { nilId } from '../ids.ts'
import { lastRenaming } from './names.ts'

/** Projects whose newest version is kept in mind: about 12 MB. */
const cachedVersions = 50_000

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

export interface Versions {
  /** True when project and names are still as they were then, right now; a project that is not there has version 0. */
  isCurrent(one: Versioned): Promise<boolean>
  /** True when somebody saw another version last: then looking again is better than to ask. Nothing else may rest on it. */
  isDoubtful(one: Versioned): boolean
  /** Tells of a version that was just seen. */
  heard(one: Versioned): void
  /** What was seen of a project, or of a task there, at the last version up to which it holds for certain. */
  follow<S extends Versioned>(seen: S, taskId?: string): S
}

/**
 * Compares with the versions of projects, for many requests in one query, and with the events that made them: after a
 * failover another event may have the number, and a command that was sent again has its event at another one. Asked for
 * by an array, for a join with one reads every project where those are few, and costs Postgres half as much again.
 */
export function openVersions(
  sql: Sql,
  steps: { follow<S extends Versioned>(seen: S, taskId?: string): S },
  waits?: Distribution,
): Versions {
  const lastSeen = new LRUCache<string, string>({ max: cachedVersions })
  const isCurrent = batched({ keys: 500, slots: 1, waits }, async (seen: Versioned[]) => {
    const [row] = await sql<{ newest: string | null; renaming: string }[]>`
      select string_agg(project_id::text || last_event_id || version, ',') as newest, ${lastRenaming(sql)} as renaming
      from streams where project_id = any(${seen.map(({ projectId }) => projectId)}::uuid[])`
    const { newest, renaming } = row!
    const newestOf = new Map(newest?.split(',').map((ids) => [ids.slice(0, idLength), ids.slice(idLength)]))
    return seen.map((one) => {
      const { projectId, lastEventId, version } = one
      const last = newestOf.get(projectId) ?? `${nilId}0`
      const isLast = last === lastEventId + version
      if (!isLast) lastSeen.set(projectId, last.slice(0, idLength))
      return isLast && (one.renaming ?? renaming) === renaming
    })
  })
  const heard = ({ projectId, lastEventId }: Versioned) => void lastSeen.set(projectId, lastEventId)
  return {
    isCurrent,
    isDoubtful: ({ projectId, lastEventId }) => (lastSeen.get(projectId) ?? lastEventId) !== lastEventId,
    heard,
    follow(seen, taskId) {
      const followed = steps.follow(seen, taskId)
      if (followed !== seen) heard(followed)
      return followed
    },
  }
}
