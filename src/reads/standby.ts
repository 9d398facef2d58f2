import { LRUCache } from 'lru-cache'
import { firstIdAt, nowMs } from '../ids.ts'
import type { Log } from '../logger.ts'
import type { ReadPools, Sql } from '../postgres/database.ts'
import { readRows } from '../postgres/row-order.ts'
import { throttle, within } from '../waits.ts'
import type { Versioned } from './versions.ts'

/** A standby without an event of this age lags. If it lacks a newer event, only reads of this project wait. */
const lagMs = 1_000
const nextTryMs = 100
const logEveryMs = 60_000
const maxProjects = 10_000

/** The state that the check on the primary found. The rows of a standby are used only if they belong to this state. */
export interface Demand {
  /** The rows belong to these projects. With `renaming`, the rows may contain names of people. */
  projects: Versioned[]
  /** Set if the rows depend only on the events of the project up to this seq, which never change. */
  upTo?: number
  /** The event at `upTo`, for a standby that lacks the latest events. */
  past?: { seq: number; eventId: string }
  /** How far the documents of the project are indexed. */
  indexed?: { seq: number; eventId: string }
}

export const otherHistory = () => new Error('the standby has other events than the primary')

/** A standby, with the last known states of projects: hints, because each statement compares the state again. */
export class Standby {
  readonly counts = { standby: 0, behind: 0, failed: 0 }
  readonly seen = new LRUCache<string, Versioned & { nextTryAt: number }>({ max: maxProjects })
  lagVersions = 0
  private isAway = true
  private restsUntil = 0
  /** When the standby last had all changes that the primary had. */
  private caughtUpAt = performance.now()
  private isCaughtUp = false
  private readonly warn = throttle(logEveryMs, (reason: string) =>
    this.log.warn({ standby: this.name, reason }, 'this standby is not read until it can answer again'),
  )

  constructor(
    readonly name: string,
    readonly pools: ReadPools,
    private readonly log: Log,
  ) {}

  get lagSeconds(): number {
    return this.isCaughtUp && !this.isAway ? 0 : (performance.now() - this.caughtUpAt) / 1_000
  }

  get state(): 'ok' | 'behind' | 'away' {
    return this.isAway ? 'away' : this.lagSeconds * 1_000 > lagMs ? 'behind' : 'ok'
  }

  /** Returns 2 if the standby probably has the demanded state, 1 if that is unknown, 0 if the standby rests. */
  rank({ projects, upTo = Infinity }: Demand): number {
    if (this.isAway) return 0
    const now = performance.now()
    let rank = 2
    for (const { projectId, lastEventId } of projects) {
      const seen = this.seen.get(projectId)
      if (seen && (seen.lastEventId === lastEventId || seen.version >= upTo)) continue
      if (now < this.restsUntil || (seen && now < seen.nextTryAt)) return 0
      rank = 1
    }
    return rank
  }

  /** Remembers the state of a project on this standby. @throws Error if the primary has another event at this version */
  note(wanted: Versioned, version: number, lastEventId: string): void {
    const { projectId } = wanted
    const isSame = lastEventId === wanted.lastEventId
    if (version === wanted.version && !isSame) throw otherHistory()
    const now = performance.now()
    this.seen.set(projectId, { projectId, version, lastEventId, nextTryAt: isSame ? 0 : now + nextTryMs })
    this.lagVersions = Math.max(this.lagVersions, wanted.version - version)
    const isOld = wanted.lastEventId < firstIdAt(nowMs() - lagMs)
    if (version < wanted.version && isOld) this.restsUntil = now + lagMs
  }

  fail(error: unknown): void {
    this.isAway = true
    this.warn(error instanceof Error ? error.message : String(error))
  }

  /** Ends the rests. */
  answered(caughtUpAt: number, isCaughtUp: boolean): void {
    this.isAway = false
    this.caughtUpAt = Math.max(this.caughtUpAt, caughtUpAt)
    this.isCaughtUp = isCaughtUp
    if (isCaughtUp) this.restsUntil = 0
  }
}

const probeTimeoutMs = 1_000
/** A probe compares the projects of each standby that were read last, at most this many. */
const maxProbed = 100
/** The positions of the primary in the last ten minutes. */
const maxPositions = 600

/** SQL for a position in the write-ahead log as a number. */
const position = (sql: Sql, lsn: string) =>
  sql`pg_wal_lsn_diff(${sql.unsafe(lsn)}, '0/0')::float8 as position`

/** Returns a function that compares the standbys with the primary. */
export function openProbe(primary: Sql, standbys: Standby[]) {
  const positions: { at: number; position: number }[] = []

  async function compare(standby: Standby, versions: Versioned[]) {
    const { reads: sql } = standby.pools
    const ids = versions.map(({ projectId }) => projectId)
    const seqs = versions.map(({ version }) => version)
    const rows = sql<{ isStandby: boolean; position: number | null; states: string | null }[]>`
      select pg_is_in_recovery() as is_standby, ${position(sql, 'pg_last_wal_replay_lsn()')}, (
        select string_agg(concat_ws(' ', q.n, s.version, s.last_event_id,
          (select e.id from events e where e.project_id = q.id and e.seq = q.seq)), ',')
        from unnest(${ids}::uuid[], ${seqs}::bigint[]) with ordinality q(id, seq, n)
        join streams s on s.project_id = q.id) as states`
    const [row] = (await within(probeTimeoutMs, rows)) ?? []
    if (!row) throw new Error('the standby does not answer')
    if (!row.isStandby) throw new Error('the server is not a standby')
    standby.lagVersions = 0
    readRows(ids.length, row.states, ([version, lastEventId = '', idAtVersion], n) => {
      const wanted = versions[n]!
      if (idAtVersion !== undefined && idAtVersion !== wanted.lastEventId) throw otherHistory()
      standby.note(wanted, Number(version), lastEventId)
    })
    const caughtUp = positions.find((one) => one.position <= (row.position ?? 0))
    standby.answered(caughtUp?.at ?? 0, caughtUp !== undefined && caughtUp === positions[0])
  }

  return async (): Promise<void> => {
    const ids = new Set(standbys.flatMap(({ seen }) => [...seen.keys().take(maxProbed)]))
    const at = performance.now()
    const [row] = await primary<{ position: number; versions: string | null }[]>`
      select ${position(primary, 'pg_current_wal_lsn()')}, (
        select string_agg(concat_ws(' ', q.n, q.id, s.version, s.last_event_id), ',')
        from unnest(${[...ids]}::uuid[]) with ordinality q(id, n) join streams s on s.project_id = q.id) as versions`
    positions.unshift({ at, position: row!.position })
    positions.length = Math.min(positions.length, maxPositions)
    const versions = readRows(ids.size, row!.versions, ([projectId = '', version, lastEventId = '']) => {
      return { projectId, version: Number(version), lastEventId }
    }).flatMap((one) => one ?? [])
    await Promise.all(standbys.map((one) => compare(one, versions).catch((error) => one.fail(error))))
  }
}
