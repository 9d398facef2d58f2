import type { Spend } from '../admission/spend.ts'
import type { Config } from '../config.ts'
import type { Caller } from '../identity/rights.ts'
import type { Sql } from '../postgres/database.ts'
import { gone, type OldestKept, requireKept } from '../reads/kept.ts'
import { seqAt } from '../reads/seq-at.ts'
import type { Versioned } from '../reads/versions.ts'
import type { Refusal } from '../wire/refusals.ts'
import { ahead, type Moment, readAsOf, tooFarBack } from './as-of.ts'

/** Events taken back at the cost of a plain read. */
const eventsOfRead = 25

export interface Moments {
  /** Events that one may look back over, at most. */
  most: number
  /** What a moment is refused with, for the document. */
  refuses: Refusal[]
  /** The moment of a project that is meant; undefined when the project did not exist then. @throws Refusal 400 */
  find(seen: Versioned, asOf: string): Promise<Moment | undefined>
  /** What was read of a moment, when all that came after it was there to be read. @throws Refusal 410, or 429 by its cost */
  read<T>(caller: Caller, moment: Moment, work: (sql: Sql) => PromiseLike<T>): Promise<T>
}

type Log = Pick<Versioned, 'projectId' | 'version'>

/** Finds moments of projects that the caller was just seen to be in. */
export function openMoments(
  sql: Sql,
  oldestKept: OldestKept,
  spend: Spend,
  { asOfEvents: most }: Pick<Config, 'asOfEvents'>,
): Moments {
  /** 0 when it did not exist yet. @throws Refusal 410 */
  async function versionAt(now: Log, instant: string): Promise<number> {
    const version = await seqAt(sql, now, instant)
    const oldest = (await oldestKept(now.projectId)) ?? 1
    if (version >= oldest || oldest === 1) return version
    if (await isBefore(sql, now.projectId, instant)) return 0
    throw gone(oldest)
  }
  return {
    most,
    refuses: [ahead(), tooFarBack(most), gone(17)],
    async find({ projectId, version: now }, text) {
      const asOf = readAsOf(text)
      const version = typeof asOf === 'number' ? asOf : await versionAt({ projectId, version: now }, asOf)
      if (version === 0) return undefined
      if (version > now) throw ahead()
      if (version < now - most) throw tooFarBack(most)
      return { projectId, version, now }
    },
    async read(caller, { projectId, version, now }, work) {
      const found = await spend(caller, 1 + (now - version) / eventsOfRead, work)
      await requireKept(oldestKept, projectId, version)
      return found
    },
  }
}

/** Whether an instant is before a project was created, which its row tells however much of the log is gone. */
async function isBefore(sql: Sql, projectId: string, instant: string): Promise<boolean> {
  const [row] = await sql<{ isBefore: boolean }[]>`
    select created_at > ${instant}::text::timestamptz as is_before from projects where id = ${projectId}`
  return row?.isBefore ?? true
}
