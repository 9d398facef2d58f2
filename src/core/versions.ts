import { LRUCache } from 'lru-cache'
import { batched } from './batch.ts'
import type { Sql } from './database.ts'
import { unpack } from './packed.ts'

/** A project's version right now; undefined when there is none. */
export type VersionOf = (projectId: string) => Promise<number | undefined>

/** The versions of projects, for many requests in one query. */
export function openVersions(sql: Sql): VersionOf {
  return batched({ keys: 500, slots: 1 }, async (ids: string[]) => {
    const [row] = await sql<{ found: string | null }[]>`
      select string_agg(concat_ws(' ', q.n, s.version), ',') as found
      from unnest(${ids}::uuid[]) with ordinality q(id, n) join streams s on s.project_id = q.id`
    return unpack(ids.length, row?.found ?? null, ([version]) => Number(version))
  })
}

/** What was seen in a project, and the version that the project had in the same moment. */
interface Sight {
  projectId: string
  version: number
}

/** About 20 MB. */
const sights = 50_000

/**
 * Remembers what `look` saw, and believes it as long as the project has the version it was seen at: every change in
 * a project takes a new one. Asking for the version each time costs Postgres a third of looking again.
 */
export function whileUnchanged<K, S extends Sight>(
  versionOf: VersionOf,
  nameOf: (key: K) => string,
  look: (key: K) => Promise<S | undefined>,
): (key: K) => Promise<S | undefined> {
  const seen = new LRUCache<string, S>({ max: sights })
  return async (key) => {
    const name = nameOf(key)
    const before = seen.get(name)
    if (before && (await versionOf(before.projectId)) === before.version) return before
    const now = await look(key)
    if (now) seen.set(name, now)
    else seen.delete(name)
    return now
  }
}
