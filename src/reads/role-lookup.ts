import type { Role } from '../identity/rights.ts'
import type { Hits } from '../metrics/counts.ts'
import type { Distribution } from '../metrics/distribution.ts'
import type { Sql } from '../postgres/database.ts'
import { type LookUp, openLookUp } from './lookups.ts'
import type { Versioned, Versions } from './versions.ts'

/** A project as the caller sees it at the time of this request. Its version gives its lists their ETag. */
export interface Seen extends Versioned {
  role: Role
  renaming: string
}

export type FindRole = LookUp<Seen>

/** Finds the role of a caller in a project right now. */
export const openFindRole = (sql: Sql, versions: Versions, counts?: Hits, waits?: Distribution): FindRole =>
  openLookUp(
    sql,
    versions,
    {
      joins: sql``,
      projectId: sql`q.id`,
      columns: sql`p.role`,
      make: (seen, [role]) => ({ ...seen, role }) as Seen,
    },
    counts,
    waits,
  )
