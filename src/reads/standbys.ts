import postgres from 'postgres'
import { LRUCache } from 'lru-cache'
import type { Config } from '../config.ts'
import { hostOf } from '../hosts.ts'
import type { Log } from '../logger.ts'
import { serversOf } from '../postgres/connect.ts'
import {
  type Database,
  endPools,
  openReadPools,
  type ReadPools,
  type Sql,
  type SqlPart,
} from '../postgres/database.ts'
import { isTransient } from '../postgres/errors.ts'
import { alike, redirected } from '../postgres/timeouts.ts'
import { repeatedly, throttle, within } from '../waits.ts'
import { firstIdAt, nowMs } from '../ids.ts'
import { lastRenaming, type Versioned, type VersionRef } from './versions.ts'

/** A read waits at most this time for a standby. */
const maxMs = 250
const probeEveryMs = 1_000
const poolNames = ['reads', 'expensive', 'searches'] as const

export interface Transaction {
  sql: Sql
  close(): Promise<void>
}

export type Standbys = ReturnType<typeof openStandbys>
/** Returns `sql` whose queries run on a standby while it has exactly the demanded state, and else on the primary. */
export type Place = (sql: Sql, demand: Demand) => Sql

/** Returns undefined without standbys. */
export function openStandbys(config: Config, database: Database, log: Log) {
  const { databaseStandbyUrls: urls, databasePooler: pooler } = config
  if (urls.length === 0) return undefined
  const all = urls.map((url) => {
    const { host, port } = hostOf(url, 5_432)
    const server = serversOf(url)[0]!
    const pools = openReadPools(config, { server, pooler, statementMs: maxMs })
    return new Standby(`${host}:${port}`, pools, database.reads, log)
  })
  const probe = async () => {
    const [row] = await database.reads<PrimaryState[]>`
      select pg_current_wal_lsn()::text as lsn, now()::text as time`
    await Promise.all(all.map((one) => one.probe(row!).catch((error) => one.fail(error))))
  }
  const endProbes = repeatedly(probe, probeEveryMs, log)
  return {
    all,
    ...openPlace(database, all),
    async close(): Promise<void> {
      await endProbes()
      await Promise.all(all.map(({ pools }) => endPools(pools)))
    },
  }
}

function openPlace(database: Database, all: Standby[]) {
  const poolOf = (sql: Sql) => poolNames.find((name) => database[name] === sql) ?? 'reads'
  let turn = 0

  /** Returns the next standby that may have the demanded state. */
  function choose(demand: Demand): Standby | undefined {
    turn += 1
    return all.map((_, n) => all[(turn + n) % all.length]!).find((one) => one.mayHave(demand))
  }

  return {
    place(sql: Sql, demand: Demand): Sql {
      const standby = choose(demand)
      if (!standby) return sql
      const attempt = openAttempt(standby)
      return redirected(sql, async (query) => {
        const found = await attempt(() => readChecked(standby.pools[poolOf(sql)], standby, demand, query))
        return found ?? alike(query, sql`${query}`)
      })
    },

    /** Opens a transaction whose snapshot has exactly the demanded state, else one on the primary. */
    async begin(demand: Demand, open: (pool: Sql) => Promise<Transaction>): Promise<Transaction> {
      const standby = choose(demand)
      if (!standby) return open(database.exports)
      const opening = open(standby.pools.exports)
      const attempt = openAttempt(standby)
      const found = await attempt(async () => {
        const { sql } = await opening
        await readChecked(sql, standby, demand, sql`select`)
        return opening
      })
      if (!found) opening.then(({ close }) => close()).catch(() => {})
      return found ?? open(database.exports)
    },
  }
}

class OtherState extends Error {}

/** Returns a function for the queries of one read. It returns undefined if the standby cannot be used. */
function openAttempt(standby: Standby) {
  let leftMs = maxMs
  return async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    if (leftMs <= 0) return undefined
    const began = performance.now()
    let outcome: keyof Standby['counts'] = 'standby'
    try {
      const answer = work()
      // The second wait lets a process that was busy for this time read an answer that has arrived.
      const found = (await within(leftMs, answer)) ?? (await within(1, answer))
      if (!found) throw new Error(`no answer within ${maxMs} ms`)
      leftMs -= performance.now() - began
      return found
    } catch (error) {
      leftMs = 0
      outcome = error instanceof OtherState ? 'behind' : 'failed'
      const isOfQuery = error instanceof postgres.PostgresError && !isTransient(error)
      if (outcome === 'failed' && !isOfQuery) standby.fail(error)
      return undefined
    } finally {
      standby.counts[outcome]++
    }
  }
}

interface CheckedRow {
  checkedRow?: string | null
  checkedState?: State
}

/** The state of a server. `further`: how far documents are indexed, or the id of the last event of immutable rows. */
interface State {
  isStandby: boolean
  renaming: string
  versions: Record<string, [version: number, lastEventId: string]> | null
  further: string | null
}

/**
 * Runs the query on a standby: one statement reads the rows and the state of the standby from one snapshot.
 * @throws OtherState if the standby has another state than demanded
 */
async function readChecked(sql: Sql, standby: Standby, demand: Demand, query: SqlPart): Promise<object[]> {
  // The join returns a row even if the query has none. `checked_row` keeps the order of the rows.
  const checked = sql<CheckedRow[]>`
    select r.*, case when coalesce(r.checked_row, 1) = 1 then ${stateSql(sql, demand)} end as checked_state
    from (values (1)) v left join (select q.*, row_number() over () as checked_row from (${query}) q) r on true
    order by r.checked_row`
  const rows = await alike(query, checked)
  const { checkedRow, checkedState } = rows[0]!
  await requireState(standby, demand, checkedState!)
  if (checkedRow == null) rows.length = 0
  for (const row of rows) {
    delete row.checkedRow
    delete row.checkedState
  }
  return rows
}

function stateSql(sql: Sql, { projects, indexed, upTo }: Demand): SqlPart {
  const ids = sql`any(${projects.map(({ projectId }) => projectId)}::uuid[])`
  const further = indexed
    ? sql`(select seq || ' ' || event_id from search_cursors where project_id = ${ids} and fill is null)`
    : sql`(select id from events where project_id = ${ids} and seq = ${upTo ?? null}::bigint)`
  return sql`json_build_object('isStandby', pg_is_in_recovery(), 'renaming', ${lastRenaming(sql)}, 'further', ${further},
    'versions', (select json_object_agg(project_id, json_build_array(version, last_event_id))
      from streams where project_id = ${ids}))`
}

/** @throws OtherState if the standby cannot serve the demand now, another error if it must not be used at all */
async function requireState(standby: Standby, demand: Demand, state: State): Promise<void> {
  const { isStandby, renaming, versions, further } = state
  const { projects, indexed } = demand
  if (!isStandby) throw notAStandby()
  for (const project of projects) {
    const [version, lastEventId] = versions?.[project.projectId] ?? [0, '']
    standby.note(project, version, lastEventId)
    const isCurrent = version === project.version && lastEventId === project.lastEventId
    const isUsable = isCurrent || (version < project.version && (await hasSamePast(standby, demand, further)))
    if (!isUsable || (project.renaming ?? renaming) !== renaming) throw new OtherState()
  }
  if (indexed && further !== `${indexed.seq} ${indexed.eventId}`) throw new OtherState()
}

/** If primary and standby have an event with the same id, they have the same events up to there. */
async function hasSamePast({ primary }: Standby, { projects, upTo }: Demand, eventId: string | null) {
  if (upTo === undefined || !eventId) return false
  const [event] = await primary<{ id: string }[]>`
    select id from events where project_id = ${projects[0]!.projectId} and seq = ${upTo}::bigint`
  if (event && event.id !== eventId) throw otherHistory()
  return event !== undefined
}

/** A standby that lacks an event older than this lags. If it lacks a newer event, only reads of that project wait. */
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
  /** How far the documents of the project are indexed. */
  indexed?: { seq: number; eventId: string }
}

const otherHistory = () => new Error('the standby has other events than the primary')
const notAStandby = () => new Error('the server is not a standby')

/** The last position in the write-ahead log, and the clock of the primary, which also timestamps its commits. */
type PrimaryState = Record<'lsn' | 'time', string>

interface Seen extends VersionRef {
  missing: number
  nextTryAt: number
}

/** A standby, with the last known states of projects: hints, because each statement compares the state again. */
class Standby {
  readonly counts = { standby: 0, behind: 0, failed: 0 }
  private readonly seen = new LRUCache<string, Seen>({ max: maxProjects })
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
    readonly primary: Sql,
    private readonly log: Log,
  ) {}

  get lagSeconds(): number {
    return this.isCaughtUp && !this.isAway ? 0 : (performance.now() - this.caughtUpAt) / 1_000
  }

  /** The maximum number of versions that a project lacked when it was last read. */
  get lagVersions(): number {
    return this.isCaughtUp ? 0 : Math.max(0, ...this.seen.values().map(({ missing }) => missing))
  }

  get state(): 'ok' | 'behind' | 'away' {
    return this.isAway ? 'away' : this.lagSeconds * 1_000 > lagMs ? 'behind' : 'ok'
  }

  /** False if the standby probably lacks the demanded state. */
  mayHave({ projects, upTo = Infinity }: Demand): boolean {
    const now = performance.now()
    return (
      !this.isAway &&
      projects.every(({ projectId, lastEventId }) => {
        const seen = this.seen.get(projectId)
        if (seen && (seen.lastEventId === lastEventId || seen.version >= upTo)) return true
        return now >= this.restsUntil && now >= (seen?.nextTryAt ?? 0)
      })
    )
  }

  /** Remembers the state of a project on this standby. @throws Error if the primary has another event at this version */
  note(wanted: Versioned, version: number, lastEventId: string): void {
    const { projectId } = wanted
    const isSame = lastEventId === wanted.lastEventId
    if (version === wanted.version && !isSame) throw otherHistory()
    const now = performance.now()
    const nextTryAt = isSame ? 0 : now + nextTryMs
    this.seen.set(projectId, { version, lastEventId, missing: wanted.version - version, nextTryAt })
    const isOld = wanted.lastEventId < firstIdAt(nowMs() - lagMs)
    if (version < wanted.version && isOld) this.restsUntil = now + lagMs
  }

  fail(error: unknown): void {
    this.isAway = true
    this.warn(error instanceof Error ? error.message : String(error))
  }

  /** Compares the standby with the primary. @throws Error if the standby must not be used */
  async probe({ lsn, time }: PrimaryState): Promise<void> {
    const at = performance.now()
    // A standby that lacks changes had all changes when its last replayed transaction was committed.
    const [row] = await this.pools.reads<
      { isStandby: boolean; isCaughtUp: boolean; replayedSeconds: number }[]
    >`
      select pg_is_in_recovery() as is_standby, pg_last_wal_replay_lsn() >= ${lsn}::text::pg_lsn as is_caught_up,
        coalesce(extract(epoch from ${time}::text::timestamptz - pg_last_xact_replay_timestamp()), 1e9)::float8 as replayed_seconds`
    const { isStandby, isCaughtUp, replayedSeconds } = row!
    if (!isStandby) throw notAStandby()
    this.isAway = false
    this.isCaughtUp = isCaughtUp
    if (isCaughtUp) this.restsUntil = 0
    // Commits seem to be in the future after the clock of the primary was set back.
    const missingMs = isCaughtUp ? 0 : Math.max(0, replayedSeconds * 1_000)
    this.caughtUpAt = Math.max(this.caughtUpAt, at - missingMs)
  }
}
