import { LRUCache } from 'lru-cache'
import { batched } from './batch.ts'
import type { Sql } from './database.ts'
import { unpack } from './packed.ts'

/** Projects whose newest version is kept in mind: about 10 MB. */
const minded = 50_000
/** Sights kept of each kind: about 20 MB. */
const sights = 50_000

export interface Versions {
  /** A project's version right now; undefined when there is none. */
  now(projectId: string): Promise<number | undefined>
  /** The newest version this process has heard of: whatever was seen at an older one is out of date for certain. */
  newest(projectId: string): number
  /** Tells of a version that a project has, or had. */
  heard(projectId: string, version: number): void
}

/** The versions of projects, for many requests in one query. */
export function openVersions(sql: Sql): Versions {
  const known = new LRUCache<string, number>({ max: minded })
  const newest = (projectId: string) => known.get(projectId) ?? 0
  const heard = (projectId: string, version: number) => {
    if (version > newest(projectId)) known.set(projectId, version)
  }
  const now = batched({ keys: 500, slots: 1 }, async (ids: string[]) => {
    const [row] = await sql<{ found: string | null }[]>`
      select string_agg(concat_ws(' ', q.n, s.version), ',') as found
      from unnest(${ids}::uuid[]) with ordinality q(id, n) join streams s on s.project_id = q.id`
    return unpack(ids.length, row?.found ?? null, ([version], n) => {
      heard(ids[n]!, Number(version))
      return Number(version)
    })
  })
  return { now, newest, heard }
}

/** What was seen in a project, and the version that the project had in the same moment. */
interface Sight {
  projectId: string
  version: number
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
    if (before && before.version === versions.newest(before.projectId)) {
      if ((await versions.now(before.projectId)) === before.version) return before
    }
    const now = await look(key)
    if (!now) seen.delete(name)
    else {
      seen.set(name, now)
      versions.heard(now.projectId, now.version)
    }
    return now
  }
}
