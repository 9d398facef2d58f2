import postgres from 'postgres'
import type { Config } from '../config.ts'
import { hostOf } from '../hosts.ts'
import type { Log } from '../logger.ts'
import { serversOf } from '../postgres/connect.ts'
import { type Database, endPools, openReadPools, type Sql, type SqlPart } from '../postgres/database.ts'
import { isTransient } from '../postgres/errors.ts'
import { type Alike, redirected } from '../postgres/hooks.ts'
import { repeatedly, within } from '../waits.ts'
import { lastRenaming } from './names.ts'
import { type Demand, openProbe, otherHistory, Standby } from './standby.ts'

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
    return new Standby(`${host}:${port}`, pools, log)
  })
  const probe = openProbe(database.reads, all)
  let probing: Promise<void> | undefined
  const probeOnce = () => (probing ??= probe().finally(() => (probing = undefined)))
  const endProbes = repeatedly(probeOnce, probeEveryMs, log)
  return {
    all,
    ...openPlace(database, all, probeOnce),
    async states() {
      await probeOnce().catch(() => {})
      return all.map(({ state }) => state)
    },
    async close(): Promise<void> {
      await endProbes()
      await Promise.all(all.map(({ pools }) => endPools(pools)))
    },
  }
}

function openPlace(database: Database, all: Standby[], probe: () => Promise<void>) {
  const poolOf = (sql: Sql) => poolNames.find((name) => database[name] === sql) ?? 'reads'
  let turn = 0

  /** Returns the standby that most probably has the demanded state. */
  function choose(demand: Demand): Standby | undefined {
    turn = (turn + 1) % all.length
    const inTurn = [...all.slice(turn), ...all.slice(0, turn)]
    return [2, 1].map((rank) => inTurn.find((one) => one.rank(demand) === rank)).find(Boolean)
  }

  return {
    place(sql: Sql, demand: Demand): Sql {
      const standby = choose(demand)
      if (!standby) return sql
      const attempt = openAttempt(standby, probe)
      return redirected(sql, async (query, alike) => {
        const found = await attempt(async () => {
          const own = await withPast(database.reads, standby, demand)
          return readChecked(standby.pools[poolOf(sql)], standby, own, query, alike)
        })
        return found ?? alike(sql`${query}`)
      })
    },

    /** Opens a transaction whose snapshot has exactly the demanded state, else one on the primary. */
    async begin(demand: Demand, open: (pool: Sql) => Promise<Transaction>): Promise<Transaction> {
      const standby = choose(demand)
      if (!standby) return open(database.exports)
      const opening = open(standby.pools.exports)
      const attempt = openAttempt(standby, probe)
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
function openAttempt(standby: Standby, probe: () => Promise<void>) {
  let leftMs = maxMs
  let outcome: keyof Standby['counts'] | undefined
  return async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    if (leftMs <= 0) return undefined
    const began = performance.now()
    const isFirst = outcome === undefined
    try {
      const answer = work()
      // The second wait lets a process that was busy for this time read an answer that has arrived.
      const found = (await within(leftMs, answer)) ?? (await within(1, answer))
      if (!found) throw new Error(`no answer within ${maxMs} ms`)
      leftMs -= performance.now() - began
      outcome = 'standby'
      return found
    } catch (error) {
      leftMs = 0
      outcome = error instanceof OtherState ? 'behind' : 'failed'
      const isOfQuery = error instanceof postgres.PostgresError && !isTransient(error)
      if (outcome === 'failed' && !isOfQuery) {
        standby.fail(error)
        // A standby that is only busy can be read again after this probe.
        probe().catch(() => {})
      }
      return undefined
    } finally {
      if (isFirst) standby.counts[outcome!]++
    }
  }
}

/**
 * Adds the last event of immutable rows if the standby lacks the latest events. If primary and standby have an event
 * with the same id, they have the same events up to there.
 */
async function withPast(primary: Sql, { seen }: Standby, demand: Demand): Promise<Demand> {
  const { upTo } = demand
  const { projectId, lastEventId } = demand.projects[0]!
  const known = seen.get(projectId)
  if (upTo === undefined || !known || known.lastEventId === lastEventId || known.version < upTo) return demand
  const [past] = await primary<{ seq: number; eventId: string }[]>`
    select seq::float8 as seq, id as event_id from events where project_id = ${projectId} and seq = ${upTo}::bigint`
  if (!past) throw new OtherState()
  return { ...demand, past }
}

type CheckedRow = { checkedRow?: string | null; checkedState?: string }

/**
 * Runs the query on a standby: one statement reads the rows and the state of the standby from one snapshot.
 * @throws OtherState if the standby has another state than demanded
 */
async function readChecked(
  sql: Sql,
  standby: Standby,
  demand: Demand,
  query: SqlPart,
  alike: Alike = (one) => one,
): Promise<object[]> {
  // The join returns a row even if the query has none. `checked_row` keeps the order of the rows.
  const rows = await alike(sql<CheckedRow[]>`
    select r.*, case when coalesce(r.checked_row, 1) = 1 then ${stateSql(sql, demand)} end as checked_state
    from (values (1)) v left join (select q.*, row_number() over () as checked_row from (${query}) q) r on true
    order by r.checked_row`)
  const { checkedRow, checkedState } = rows[0]!
  requireState(standby, demand, checkedState!)
  if (checkedRow == null) rows.length = 0
  for (const row of rows) {
    delete row.checkedRow
    delete row.checkedState
  }
  return rows
}

/** SQL for the state of a server as one text. */
function stateSql(sql: Sql, { projects, indexed, past }: Demand): SqlPart {
  const ids = sql`any(${projects.map(({ projectId }) => projectId)}::uuid[])`
  const further = indexed
    ? sql`(select seq || ' ' || event_id from search_cursors where project_id = ${ids} and fill is null)`
    : past
      ? sql`(select id from events where project_id = ${ids} and seq = ${past.seq}::bigint)`
      : sql`''`
  return sql`concat_ws(';', pg_is_in_recovery(), ${lastRenaming(sql)}, coalesce((
    select string_agg(concat_ws(' ', project_id, version, last_event_id), ',')
    from streams where project_id = ${ids}), ''), ${further})`
}

/** @throws OtherState if the standby cannot serve the demand now, another error if it must not be used at all */
function requireState(standby: Standby, { projects, indexed, past }: Demand, state: string): void {
  const [isStandby, renaming, states = '', further] = state.split(';')
  if (isStandby !== 't') throw new Error('the server is not a standby')
  if (past && further && further !== past.eventId) throw otherHistory()
  const found = new Map(states.split(',').map((one) => [one.split(' ', 1)[0], one.split(' ')]))
  const fits = projects.map((project) => {
    const [, text = '0', lastEventId = ''] = found.get(project.projectId) ?? []
    const version = Number(text)
    standby.note(project, version, lastEventId)
    const isCurrent = version === project.version && lastEventId === project.lastEventId
    const hasPast = past !== undefined && version < project.version && further === past.eventId
    return (isCurrent || hasPast) && (project.renaming ?? renaming) === renaming
  })
  const isIndexed = !indexed || further === `${indexed.seq} ${indexed.eventId}`
  if (fits.includes(false) || !isIndexed) throw new OtherState()
}
