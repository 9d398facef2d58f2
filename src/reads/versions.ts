import type { Distribution } from '../metrics/counts.ts'
import { nilId } from '../id-format.ts'
import { grouped, groupOfCheapReads } from '../postgres/grouped.ts'
import type { Sql } from '../postgres/database.ts'

export interface Versioned {
  projectId: string
  version: number
  /** The event whose seq is `version`. After a restore, another event may have this seq. */
  lastEventId: string
  /** The id of the last change of any account's name. Missing if no response shows a name. */
  renaming?: string
}

/** A version with the id of its event: after a failover another event may have the same version. */
export type VersionRef = Pick<Versioned, 'version' | 'lastEventId'>

/** Returns the ETag of a project's content at a version. `suffix` distinguishes callers who see different content. */
export const etagAt = ({ version, lastEventId }: Versioned, suffix = ''): string =>
  `"${version}-${lastEventId}${suffix}"`

/** SQL for an id that changes when any account is renamed or deleted. Cached names are valid until then. */
export const lastRenaming = (sql: Sql) =>
  sql`coalesce((select change_id from people where one)::text, 'none')`

/** The part of the ETag of a response that shows a name. Changes when any account is renamed, and is empty before. */
export const nameTagOf = (renaming = 'none'): string => (renaming === 'none' ? '' : `.${renaming}`)

/** SQL for the same part of the ETag. */
export const nameTag = (sql: Sql) => sql`coalesce('.' || (select change_id from people where one), '')`

type VersionOf = VersionRef & Pick<Versioned, 'projectId'>

export type Versions = ReturnType<typeof openVersions>

export function openVersions(
  sql: Sql,
  { advance: follow }: Pick<KnownCommits, 'advance'>,
  waits?: Distribution,
) {
  const lastRenamed = lastRenaming(sql)
  const renamingIfCurrent = grouped({ ...groupOfCheapReads, waits }, async (seen: VersionOf[]) => {
    // With a join instead of the array, Postgres would read every project and take 50 % longer.
    const [row] = await sql<{ newest: string | null; renaming: string }[]>`
      select string_agg(project_id::text || last_event_id || version, ',') as newest, ${lastRenamed} as renaming
      from streams where project_id = any(${seen.map(({ projectId }) => projectId)}::uuid[])`
    const { newest, renaming } = row!
    const versions = new Set(newest?.split(','))
    return seen.map(({ projectId, lastEventId, version }) => {
      const isLast =
        versions.has(projectId + lastEventId + version) ||
        (lastEventId === nilId && version === 0 && !newest?.includes(projectId))
      return isLast ? renaming : undefined
    })
  })
  return {
    follow,
    /** Returns the last renaming of an account; undefined if the project's version has changed. A missing project has version 0. */
    renamingIfCurrent,
    isCurrent: async (seen: VersionOf): Promise<boolean> => (await renamingIfCurrent(seen)) !== undefined,
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
/** The first commit after the event `after`, with the ids of the tasks and views that the commit changed or deleted. */
export interface NextCommit extends VersionRef {
  after: string
  rows: string[]
}

/** The maximum number of commits in memory: about 20 MB. */
const maxCommits = 100_000
/** The maximum number of changed rows of a commit that keeps cached results valid. */
const maxRows = 5
/** Shared by most commits, because they only create rows. */
const noRows: string[] = []
const maxCommitsAdvanced = 100

/**
 * Returns the data that keeps cached results valid after a commit; undefined if the commit may change any result,
 * because it changed a role or an entity that other rows refer to.
 * @param isTarget whether references by id to this entity are shown
 */
export function nextCommit(
  { heads, events }: Committed,
  isTarget: (entity: string, isDeletedOrRestored: boolean) => boolean,
): NextCommit | undefined {
  const [head, other] = heads
  if (!head || other || head.expected === 0) return undefined
  let rows = noRows
  for (const { entity, entityId, before, after, undoes } of events) {
    if (entity === 'project' || entity === 'member') return undefined
    // References by id change in responses only if this row is deleted or restored.
    if (isTarget(entity, !after || (!before && undoes != null))) return undefined
    if (!before || (entity !== 'task' && entity !== 'view')) continue
    if (rows === noRows) rows = []
    rows.push(entityId)
  }
  if (rows.length > maxRows) return undefined
  return { after: head.expectedEventId, version: head.version, lastEventId: head.lastEventId, rows }
}

/** The latest commits of all processes, as far as this process knows them. Cached results stay valid after most of them. */
export class KnownCommits {
  private readonly known = new Map<string, NextCommit>()

  /** Forgets all commits instead of the oldest: an LRU cache costs three times as much. */
  add(next: NextCommit): void {
    if (this.known.size >= maxCommits) this.known.clear()
    this.known.set(next.after, next)
  }

  /**
   * Returns the result with the latest version for which it is valid; undefined if it is outdated.
   * @param id the project, task or view looked up
   */
  readonly advance = <S extends Versioned>(seen: S, id: string): S | undefined => {
    let last: NextCommit | undefined
    for (let count = 0; count < maxCommitsAdvanced; count++) {
      const eventId = last?.lastEventId ?? seen.lastEventId
      const next = this.known.get(eventId)
      if (!next) break
      if (next.rows.includes(id)) return undefined
      last = next
    }
    return last ? { ...seen, version: last.version, lastEventId: last.lastEventId } : seen
  }
}
