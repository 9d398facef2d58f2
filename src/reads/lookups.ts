import { LRUCache } from 'lru-cache'
import { isId } from '../id-format.ts'
import { type Caller, isWithinToken, type Role } from '../identity/rights.ts'
import { type Hits, newHits } from '../metrics/counts.ts'
import { grouped, groupOfCheapReads, readRows } from '../postgres/grouped.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import { notFound } from '../responses/errors.ts'
import { type Pair, pairsOf, visibleProject } from './visible.ts'
import { lastRenaming, type Versioned, type Versions } from './versions.ts'

/** The maximum number of cached results for each kind of look-up: about 20 MB. */
const cachedLookups = 50_000

/** A project that the caller may see. The version is part of the ETags of its lists. */
export interface VisibleProject extends Versioned {
  role: Role
  renaming: string
  /** The id of the event that last changed the project's row. */
  eventId: string
}

export type FindRole = LookUp<VisibleProject>

export const openFindRole = (sql: Sql, versions: Versions, counts?: Hits): FindRole => {
  const make = (seen: Versioned, [role, eventId]: string[]) => ({ ...seen, role, eventId }) as VisibleProject
  const kind = { joins: sql``, projectId: sql`q.id`, columns: sql`p.role, p.event_id`, make }
  return openLookUp(sql, versions, kind, counts)
}

interface LookUpSpec<S extends Versioned> {
  joins: SqlPart
  projectId: SqlPart
  /** SQL for values without spaces and commas, read together with the version of the project `p`. */
  columns: SqlPart
  make(seen: Versioned, fields: string[]): S
  /** The maximum number of cached results. */
  max?: number
}

/** With a `noun`, throws 404 instead of returning undefined. */
export type LookUp<S> = (caller: Caller, id: string, noun?: string) => Promise<S | undefined>

export const requireVisible = <S>(lookUp: LookUp<S>, caller: Caller, id = '', noun = 'Project') =>
  lookUp(caller, id, noun) as Promise<S>

/** Looks up the ids of many requests in one query. A cached result is valid while the project's version is the same. */
export function openLookUp<S extends Versioned>(
  sql: Sql,
  versions: Versions,
  spec: LookUpSpec<S>,
  counts = newHits(),
): LookUp<S> {
  const readMany = grouped(groupOfCheapReads, openReadMany(sql, spec))
  const cache = new LRUCache<string, S>({ max: spec.max ?? cachedLookups })
  return async (caller, id, noun) => {
    const { userId } = caller
    const key = userId + id
    const last = cache.get(key)
    let seen = last && versions.follow(last, id)
    // First checks whether the cached result is current: comparing the version takes Postgres a third of the time of a
    // new look-up.
    const renaming = seen && (await versions.renamingIfCurrent(seen))
    if (seen && renaming !== undefined) {
      counts.hits++
      if (seen.renaming !== renaming) seen = { ...seen, renaming }
    } else {
      counts.misses++
      seen = isId(id) ? await readMany({ id, userId }) : undefined
    }
    if (!seen) cache.delete(key)
    else if (seen !== last) cache.set(key, seen)
    if (seen && isWithinToken(caller, seen.projectId)) return seen
    if (noun) throw notFound(noun)
    return undefined
  }
}

const openReadMany =
  <S extends Versioned>(sql: Sql, { joins, projectId, columns, make }: LookUpSpec<S>) =>
  async (pairs: Pair[]) => {
    const [row] = await sql<{ seen: string | null; renaming: string }[]>`
      select ${lastRenaming(sql)} as renaming,
        string_agg(concat_ws(' ', q.n, p.id, s.version, s.last_event_id, ${columns}), ',') as seen
      from ${pairsOf(sql, pairs)} ${joins} cross join lateral ${visibleProject(sql, projectId, sql`q.user_id`)} p
      join streams s on s.project_id = p.id`
    const { seen, renaming } = row!
    return readRows(pairs.length, seen, ([projectId = '', version, lastEventId = '', ...fields]) =>
      make({ projectId, version: Number(version), lastEventId, renaming }, fields),
    )
  }
