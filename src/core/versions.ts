import { LRUCache } from 'lru-cache'
import { batched } from './batch.ts'
import type { Sql } from './database.ts'
import { unpack } from './packed.ts'

/** Projects whose newest version is kept in mind: about 10 MB. */
const minded = 50_000
/** Sights kept of each kind: about 20 MB. */
const sights = 50_000

/** What was seen in a project, and the version that the project had in the same moment. */
export interface Sight {
  projectId: string
  version: number
}

export interface Versions {
  /** True when the project still has the version of this sight, right now; a project that is not there has 0. */
  isCurrent(sight: Sight): Promise<boolean>
  /** Tells of a version that a project has, or had: whatever was seen at an older one is out of date for certain. */
  heard(sight: Sight): void
}

/** Compares with the versions of projects, for many requests in one query. Only those that moved are answered. */
export function openVersions(sql: Sql): Versions {
  const newest = new LRUCache<string, number>({ max: minded })
  const isOld = ({ projectId, version }: Sight) => version < (newest.get(projectId) ?? 0)
  const heard = (sight: Sight) => {
    if (!isOld(sight)) newest.set(sight.projectId, sight.version)
  }
  const compare = batched({ keys: 500, slots: 1 }, async (sights: Sight[]) => {
    const ids = sights.map(({ projectId }) => projectId)
    const versions = sights.map(({ version }) => String(version))
    const [row] = await sql<{ moved: string | null }[]>`
      select string_agg(concat_ws(' ', q.n, s.version), ',') as moved
      from unnest(${ids}::uuid[], ${versions}::text[]::int8[]) with ordinality q(project_id, version, n)
      left join streams s on s.project_id = q.project_id where coalesce(s.version, 0) <> q.version`
    const moved = unpack(sights.length, row?.moved ?? null, ([version = 0], n) => {
      heard({ projectId: ids[n]!, version: Number(version) })
      return true
    })
    return sights.map((_, n) => !moved[n])
  })
  return { heard, isCurrent: async (sight) => !isOld(sight) && compare(sight) }
}

/**
 * Remembers what `look` saw, and believes it as long as the project has the version it was seen at: every change in
 * a project takes a new one. Asking for the version costs Postgres a third of looking again.
 */
export function whileUnchanged<K, S extends Sight>(
  versions: Versions,
  nameOf: (key: K) => string,
  look: (key: K) => Promise<S | undefined>,
): (key: K) => Promise<S | undefined> {
  const seen = new LRUCache<string, S>({ max: sights })
  return async (key) => {
    const name = nameOf(key)
    const before = seen.get(name)
    if (before && (await versions.isCurrent(before))) return before
    const now = await look(key)
    if (!now) seen.delete(name)
    else {
      seen.set(name, now)
      versions.heard(now)
    }
    return now
  }
}
