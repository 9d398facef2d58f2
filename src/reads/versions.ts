import { LRUCache } from 'lru-cache'
import type { Distribution } from '../metrics/distribution.ts'
import { nilId } from '../id-format.ts'
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

/** A version with the id of its event: after a failover another event may have the same version. */
export type VersionRef = Pick<Versioned, 'version' | 'lastEventId'>

/** Returns the ETag of a project's content at a version. `suffix` distinguishes callers who see different content. */
export const etagAt = ({ version, lastEventId }: Versioned, suffix = ''): string =>
  `"${version}-${lastEventId}${suffix}"`

export type Versions = ReturnType<typeof openVersions>

export function openVersions(
  sql: Sql,
  { advance: follow }: Pick<LocalCommits, 'advance'>,
  waits?: Distribution,
) {
  const lastRenamed = lastRenaming(sql)
  return {
    follow,
    /** True if neither the project's version nor any account's name has changed. A missing project has version 0. */
    isCurrent: batched({ keys: 500, slots: 1, waits }, async (seen: Versioned[]) => {
      // With a join instead of the array, Postgres would read every project and take 50 % longer.
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

interface Committed {
  heads: (VersionRef & { expected: number; expectedEventId: string })[]
  events: {
    entity: string
    entityId: string
    before: object | null
    after: object | null
    undoes?: number | null
  }[]
}
/** The first commit after an event: the new version, and the ids of the tasks and views that the commit changed or deleted. */
type NextCommit = VersionRef & { rows: string[] }

/** The most ids in memory: about 20 MB. */
const maxIds = 200_000
const maxRows = 100
const maxCommitsAdvanced = 100

/**
 * The latest commits of this process. A result that was read before such a commit stays valid, unless the commit
 * changed the same task or view, a role, or an entity that other rows refer to.
 */
export class LocalCommits {
  private readonly commits = new LRUCache<string, NextCommit>({
    maxSize: maxIds,
    sizeCalculation: ({ rows }) => 2 + rows.length,
  })

  constructor(
    private readonly isTarget: (entity: string, isDeletedOrRestored: boolean) => boolean = () => false,
  ) {}

  add({ heads, events }: Committed): void {
    const [head, other] = heads
    if (!head || other || head.expected === 0) return
    const { expectedEventId, version, lastEventId } = head
    const rows: string[] = []
    for (const { entity, entityId, before, after, undoes } of events) {
      if (entity === 'project' || entity === 'member') return
      // References by id change in responses only if this row is deleted or restored.
      if (this.isTarget(entity, !after || (!before && undoes != null))) return
      if (before && (entity === 'task' || entity === 'view')) rows.push(entityId)
    }
    if (rows.length <= maxRows) this.commits.set(expectedEventId, { version, lastEventId, rows })
  }

  /** Returns the result with the latest version for which it is valid. `id` is the project, task or view looked up. */
  readonly advance = <S extends Versioned>(seen: S, id: string): S => {
    let last: NextCommit | undefined
    for (let count = 0; count < maxCommitsAdvanced; count++) {
      const next = this.commits.get(last?.lastEventId ?? seen.lastEventId)
      if (!next || next.rows.includes(id)) break
      last = next
    }
    return last ? { ...seen, version: last.version, lastEventId: last.lastEventId } : seen
  }
}
