import { getTableName } from 'drizzle-orm'
import type { PostgresError } from 'postgres'
import { noCommits } from '../metrics/counts.ts'
import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import type { OwedJob } from '../jobs/queue.ts'
import { errorCode, isPassing } from '../postgres/errors.ts'
import { type Choose, hasUntold, openShapes } from './shapes.ts'
import { parametersOf, type Shape } from './statement.ts'
import { idTaken } from '../wire/refusals.ts'
import type { ChildOfTask } from '../model/entities.ts'
import type { StoredEvent } from '../model/events.ts'
import { definitionOf, model } from '../model/model.ts'
import type { Kept } from './idempotency.ts'

/** A project as it was decided on, and as it is then. */
export interface Head {
  projectId: string
  expected: number
  expectedEventId: string
  version: number
  lastNumber: number
  lastEventId: string
}

/** What one actor (two, for a move) wants committed: all of it or nothing. */
export interface Unit {
  heads: Head[]
  events: StoredEvent[]
  jobs: OwedJob[]
  kept: Kept[]
}

/**
 * `won`: durable. `lost`: a version had moved on, nothing written. `unknown`: there was no answer that says which,
 * it may stand or not. An Error: the database refused this very unit, nothing written.
 */
export type Outcome = 'won' | 'lost' | 'unknown' | Error

export type Commit = (unit: Unit) => Promise<Outcome>

interface CommitLimits {
  slots: number
  events: number
  /** Statements of its own that are kept prepared. */
  shapes: number
  timeoutMs: number
}

// Two commits beside each other cost a tenth more than one of all: only one that takes long is not waited for.
const patienceMs = 25
/** The commit of a batch with more events takes long. */
const heavyEvents = 100

interface Writer {
  sql: Sql
  choose: Choose
}

/** Group commit: units of many projects in one statement, one round trip and one flush of the write-ahead log. */
export function openCommit(sql: Sql, limits: CommitLimits, counts = noCommits()): Commit {
  const by = { sql, choose: openShapes(limits.shapes) }
  // A unit carries at most one mailbox batch, so the events of a commit are bounded too.
  const weigh = { limit: limits.events, heavy: heavyEvents, of: (unit: Unit) => unit.events.length }
  // Actors decide in one pass, at whose end all that they decided goes together.
  const soon = queueMicrotask
  const { events: keys, slots } = limits
  const { waitSeconds: waits } = counts
  return batched({ keys, slots, weigh, soon, patienceMs, waits }, async (units: Unit[]) => {
    const began = performance.now()
    const outcomes = await inTime(limits.timeoutMs, units, writeAll(by, units))
    counts.seconds.addSince(began)
    counts.events.add(units.reduce((sum, { events }) => sum + events.length, 0))
    for (const outcome of outcomes) counts.units[outcome instanceof Error ? 'refused' : outcome]++
    return outcomes
  })
}

/** A connection that has gone silent must not hold its callers: when the time is up they are told what is known. */
async function inTime(ms: number, units: Unit[], written: Promise<Outcome[]>): Promise<Outcome[]> {
  const { promise: late, resolve } = Promise.withResolvers<Outcome[]>()
  const timer = setTimeout(
    resolve,
    ms,
    units.map((): Outcome => 'unknown'),
  )
  return Promise.race([written, late]).finally(() => clearTimeout(timer))
}

/** Tries all together; when the database refuses the batch, each alone, so that one bad unit fails alone. */
async function writeAll(by: Writer, units: Unit[]): Promise<Outcome[]> {
  try {
    return await write(by, units)
  } catch (error) {
    if (isPassing(error)) return units.map(() => 'unknown')
    if (units.length === 1)
      return [isKeyTaken(error) ? 'lost' : isIdTaken(error) ? idTaken() : (error as Error)]
  }
  const outcomes: Outcome[] = []
  for (const unit of units) outcomes.push(...(await writeAll(by, [unit])))
  return outcomes
}

/** Somebody else used the same Idempotency-Key first, in another project; deciding again finds the answer. */
const isKeyTaken = (error: unknown): boolean =>
  (error as Partial<PostgresError>).table_name === 'idempotency_keys' && errorCode(error) === '23505'

/** Somebody else made something with the same id first, in another project: so says its key, or `put` by a null. */
const isIdTaken = (error: unknown): boolean =>
  (errorCode(error) === '23505' && isPrimaryKey((error as PostgresError).constraint_name)) ||
  (errorCode(error) === '23502' && (error as PostgresError).column_name === 'task_id')
const isPrimaryKey = (name = '') => model().all.some(({ table }) => name === `${getTableName(table)}_pkey`)

async function write({ sql, choose }: Writer, units: Unit[]): Promise<Outcome[]> {
  const heads = units.flatMap(({ heads }, unit) => numbered(heads, unit))
  const facts = units.flatMap(({ events }, unit) => factsOf(events, unit))
  const jobs = units.flatMap(({ jobs }, unit) => numbered(jobs, unit))
  const kept = units.flatMap(({ kept }, unit) => numbered(kept, unit))
  const entities = entitiesOf(facts)
  const { shape, text } = choose({
    joint: heads.length > units.length,
    opens: heads.some(({ expected }) => expected === 0),
    ...entities,
    jobs: jobs.length > 0,
    kept: kept.length > 0,
  })
  const untold = entities.untold ? untoldOf(facts) : []
  const parameters = parametersOf(shape, { heads, facts, untold, jobs, kept })
  const [row] = await sql.unsafe<{ won: string | null }[]>(text, parameters, { prepare: true })
  const winners = new Set(row?.won?.split(' ').map(Number))
  return units.map((_, unit) => (winners.has(unit) ? 'won' : 'lost'))
}

type Numbered<T> = T & { unit: number }

/** Sets the number of the unit on its own objects: to copy each would cost more than all else here. */
function numbered<T>(rows: T[], unit: number): Numbered<T>[] {
  for (const row of rows as Numbered<T>[]) row.unit = unit
  return rows as Numbered<T>[]
}

/** An event, and what its row needs: only a row's last event writes it, and what came and went leaves no trace. */
type Fact = Numbered<StoredEvent> & { how: 'add' | 'put' | 'set' | 'cut' | null }

function factsOf(events: StoredEvent[], unit: number): Fact[] {
  const facts = numbered(events, unit) as Fact[]
  const [only] = facts
  if (only && facts.length === 1) only.how = howOf(only, only)
  if (facts.length < 2) return facts
  const first = new Map<string, Fact>()
  const last = new Map<string, Fact>()
  for (const fact of facts) {
    const row = rowOf(fact)
    if (!first.has(row)) first.set(row, fact)
    last.set(row, fact)
  }
  for (const fact of facts) {
    const row = rowOf(fact)
    fact.how = last.get(row) === fact ? howOf(first.get(row)!, fact) : null
  }
  return facts
}

/** How a row is written, of which these are the first and the last event. */
function howOf({ before, entity, undoes }: StoredEvent, { after }: StoredEvent): Fact['how'] {
  // What hung on a task that was deleted and is back may still stand, until it is removed.
  const mayStand = !before && undoes != null && definitionOf(entity).parent === 'task'
  if (after) return mayStand ? 'put' : before ? 'set' : 'add'
  const isCut = before ? !definitionOf(entity).isCutLater : mayStand
  return isCut ? 'cut' : null
}

/** The columns that no event holds, of each row once: only the last event of a row writes it. */
function untoldOf(facts: Fact[]): object[] {
  const rows = new Map<string, { unit: number; entityId: string; fields: object }>()
  for (const { untold, unit, entityId } of facts)
    if (untold) rows.set(entityId, { unit, entityId, fields: { ...rows.get(entityId)?.fields, ...untold } })
  return [...rows.values()]
}

/** Ids are made by clients too: of things of two kinds they may be the same. */
const rowOf = ({ entity, entityId }: StoredEvent): string => entity + entityId

function entitiesOf(facts: Fact[]): Pick<Shape, 'adds' | 'puts' | 'sets' | 'cuts' | 'untold'> {
  const of = (how: Fact['how']) =>
    [...new Set(facts.filter((fact) => fact.how === how).map(({ entity }) => entity))].sort()
  const untold = facts.some(({ entity }) => hasUntold(entity))
  return { adds: of('add'), puts: of('put') as ChildOfTask[], sets: of('set'), cuts: of('cut'), untold }
}
