import type { Charge } from '../admission/charge.ts'
import type { Config } from '../config.ts'
import type { Caller } from '../identity/rights.ts'
import type { Sql } from '../postgres/database.ts'
import { gone, type OldestKept, requireKept } from '../reads/kept.ts'
import { seqAt } from '../reads/seq-at.ts'
import type { Versioned } from '../reads/versions.ts'
import { ahead, type Moment, readAsOf, tooFarBack } from './as-of.ts'

/** Events taken back at the cost of a plain read. */
const eventsOfRead = 25

/** Finds moments of projects that the caller was just seen to be in, and reads them. */
export function openMoments(sql: Sql, oldestKept: OldestKept, spend: Charge, { asOfEvents: most }: Config) {
  /** 0 when the project did not exist yet: its row tells, also where events have expired. @throws HttpError 410 */
  async function versionAt(now: Versioned, instant: string): Promise<number> {
    const version = await seqAt(sql, now, instant)
    const oldest = (await oldestKept(now.projectId)) ?? 1
    if (version >= oldest || oldest === 1) return version
    const [row] = await sql<{ isBefore: boolean }[]>`
      select created_at > ${instant}::text::timestamptz as is_before from projects where id = ${now.projectId}`
    if (row?.isBefore ?? true) return 0
    throw gone(oldest)
  }
  return {
    /** Events that one may look back over, at most. */
    most,
    /** The errors of a moment, for the document. */
    errors: [ahead(), tooFarBack(most), gone(17)],
    /** The moment that is meant; undefined when the project did not exist then. @throws HttpError 400, 410 */
    async find(seen: Versioned, text: string): Promise<Moment | undefined> {
      const { projectId, version: now } = seen
      const asOf = readAsOf(text)
      const version = typeof asOf === 'number' ? asOf : await versionAt(seen, asOf)
      if (version === 0) return undefined
      if (version > now) throw ahead()
      if (version < now - most) throw tooFarBack(most)
      return { projectId, version, now }
    },
    /** Reads the past where all later events are kept. @throws HttpError 410, or 429 by its cost */
    async read<T>(caller: Caller, { projectId, version, now }: Moment, work: (sql: Sql) => PromiseLike<T>) {
      const found = await spend(caller, 1 + (now - version) / eventsOfRead, work)
      await requireKept(oldestKept, projectId, version)
      return found
    },
  }
}
