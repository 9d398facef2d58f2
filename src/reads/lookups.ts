import { LRUCache } from 'lru-cache'
import { type Caller, isWithinToken, type Role } from '../identity/rights.ts'
import { isId } from '../ids.ts'
import { type Hits, noHits } from '../metrics/counts.ts'
import type { Distribution } from '../metrics/distribution.ts'
import { batched } from '../postgres/batch.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import { readRows } from '../postgres/row-order.ts'
import { notFound } from '../responses/errors.ts'
import { lastRenaming } from './names.ts'
import { type Pair, pairsOf, visibleProject } from './visible.ts'
import type { Versioned, Versions } from './versions.ts'

/** Look-ups of each kind: about 20 MB. */
const cachedLookups = 50_000

/** A project as the caller sees it at the time of this request. Its version gives its lists their ETag. */
export interface Seen extends Versioned {
  role: Role
  renaming: string
}

export type FindRole = LookUp<Seen>

/** Finds the role of a caller in a project right now. */
export const openFindRole = (sql: Sql, versions: Versions, counts?: Hits, waits?: Distribution): FindRole => {
  const make = (seen: Versioned, [role]: string[]) => ({ ...seen, role }) as Seen
  const kind = { joins: sql``, projectId: sql`q.id`, columns: sql`p.role`, make }
  return openLookUp(sql, versions, kind, counts, waits)
}

/** A look-up by an id, and the project that the id leads to. */
interface Kind<S extends Versioned> {
  /** Joins from the id `q.id` to the id of a project. */
  joins: SqlPart
  projectId: SqlPart
  /** Read beside the version of the project `p`: text without spaces and commas. */
  columns: SqlPart
  make(seen: Versioned, fields: string[]): S
}

/** Undefined where the caller or their token may not see the project. */
export type LookUp<S> = (caller: Caller, id: string) => Promise<S | undefined>

/** @throws HttpError 404 where the caller may not see it, or the id is malformed */
export async function requireSeen<S>(
  lookUp: LookUp<S>,
  caller: Caller,
  id = '',
  noun = 'Project',
): Promise<S> {
  const seen = isId(id) ? await lookUp(caller, id) : undefined
  if (!seen) throw notFound(noun)
  return seen
}

/** Looks ids up for many requests in one query. A result is reused while its project has the same version. */
export function openLookUp<S extends Versioned>(
  sql: Sql,
  versions: Versions,
  { joins, projectId, columns, make }: Kind<S>,
  counts = noHits(),
  waits?: Distribution,
): LookUp<S> {
  // The parts of the text that are always the same are made once.
  const columnsSeen = sql`${lastRenaming(sql)} as renaming,
    string_agg(concat_ws(' ', q.n, p.id, s.version, s.last_event_id, ${columns}), ',') as seen`
  const inSight = sql`${joins} cross join lateral ${visibleProject(sql, projectId, sql`q.user_id`)} p
    join streams s on s.project_id = p.id`
  const look = batched({ keys: 500, slots: 2, waits }, async (pairs: Pair[]) => {
    const [row] = await sql<{ seen: string | null; renaming: string }[]>`
      select ${columnsSeen} from ${pairsOf(sql, pairs)} ${inSight}`
    const { renaming } = row!
    return readRows(pairs.length, row!.seen, ([projectId = '', version, lastEventId = '', ...fields]) =>
      make({ projectId, version: Number(version), lastEventId, renaming }, fields),
    )
  })
  const known = new LRUCache<string, S>({ max: cachedLookups })
  return async (caller, id) => {
    const { userId } = caller
    const last = known.get(userId + id)
    let seen = last && versions.follow(last, id)
    // Reading the version costs Postgres a third of a new look-up.
    if (seen && (await versions.isCurrent(seen))) counts.hits++
    else {
      counts.misses++
      seen = await look({ id, userId })
    }
    if (!seen) known.delete(userId + id)
    else if (seen !== last) known.set(userId + id, seen)
    return seen && isWithinToken(caller, seen.projectId) ? seen : undefined
  }
}
