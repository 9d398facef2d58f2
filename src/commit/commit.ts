import { getTableName } from 'drizzle-orm'
import type { PostgresError } from 'postgres'
import { noCommits } from '../metrics/counts.ts'
import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { errorCode, isTransient } from '../postgres/errors.ts'
import { model } from '../model/model.ts'
import { idTaken } from '../responses/errors.ts'
import { type Choose, openShapes, parametersOf, shapeOf } from './statement.ts'
import { batchOf, type CommitUnit } from './unit.ts'

/**
 * `won`: durable. `lost`: a version had moved on, nothing written. `unknown`: there was no answer that says which,
 * it may stand or not. An Error: the database refused this very unit, nothing written.
 */
export type Outcome = 'won' | 'lost' | 'unknown' | Error

export type Commit = (unit: CommitUnit) => Promise<Outcome>

interface CommitLimits {
  slots: number
  events: number
  /** Statements of its own that are kept prepared. */
  shapes: number
  timeoutMs: number
}

// Two commits beside each other cost a tenth more than one of all: a commit waits for another, but not for a long one.
const lingerMs = 25
const heavyEvents = 100

/** Group commit: units of many projects in one statement, one round trip and one flush of the write-ahead log. */
export function openCommit(sql: Sql, limits: CommitLimits, counts = noCommits()): Commit {
  const write = openWrite(sql, openShapes(limits.shapes))
  // A unit carries at most one mailbox batch, so the events of a commit are bounded too.
  const weigh = { limit: limits.events, heavy: heavyEvents, of: (unit: CommitUnit) => unit.events.length }
  // At the end of the pass in which actors decide, all that they decided goes together.
  const schedule = queueMicrotask
  const { events: keys, slots } = limits
  const { waitSeconds: waits } = counts
  return batched({ keys, slots, weigh, schedule, lingerMs, waits }, async (units: CommitUnit[]) => {
    const began = performance.now()
    const outcomes = await inTime(limits.timeoutMs, units, writeAll(write, units))
    counts.seconds.addSince(began)
    counts.events.add(units.reduce((sum, { events }) => sum + events.length, 0))
    for (const outcome of outcomes) counts.units[outcome instanceof Error ? 'refused' : outcome]++
    return outcomes
  })
}

const unknown = (units: CommitUnit[]) => units.map((): Outcome => 'unknown')

/** A silent connection must not hold its callers: when the time is up the outcome is unknown. */
function inTime(ms: number, units: CommitUnit[], written: Promise<Outcome[]>): Promise<Outcome[]> {
  const { promise: late, resolve } = Promise.withResolvers<Outcome[]>()
  const timer = setTimeout(() => resolve(unknown(units)), ms)
  return Promise.race([written, late]).finally(() => clearTimeout(timer))
}

/** Tries all together; when the database refuses the batch, each alone, so that one bad unit fails alone. */
async function writeAll(write: Write, units: CommitUnit[]): Promise<Outcome[]> {
  try {
    return await write(units)
  } catch (error) {
    if (isTransient(error)) return unknown(units)
    if (units.length === 1)
      return [isKeyTaken(error) ? 'lost' : isIdTaken(error) ? idTaken() : (error as Error)]
  }
  const outcomes: Outcome[] = []
  for (const unit of units) outcomes.push(...(await writeAll(write, [unit])))
  return outcomes
}

/** Another project's commit used the same Idempotency-Key first: deciding again finds the answer. */
const isKeyTaken = (error: unknown): boolean =>
  (error as Partial<PostgresError>).table_name === 'idempotency_keys' && errorCode(error) === '23505'

/** Another project's commit made a row with the same id first: its key says so, or the null of `put`. */
const isIdTaken = (error: unknown): boolean =>
  (errorCode(error) === '23505' && isPrimaryKey((error as PostgresError).constraint_name)) ||
  (errorCode(error) === '23502' && (error as PostgresError).column_name === 'task_id')
const isPrimaryKey = (name = '') => model().all.some(({ table }) => name === `${getTableName(table)}_pkey`)

type Write = (units: CommitUnit[]) => Promise<Outcome[]>

const openWrite =
  (sql: Sql, choose: Choose): Write =>
  async (units) => {
    const batch = batchOf(units)
    const { shape, text } = choose(shapeOf(units, batch))
    const [row] = await sql.unsafe<{ won: string | null }[]>(text, parametersOf(shape, batch), {
      prepare: true,
    })
    const winners = new Set(row?.won?.split(' ').map(Number))
    return units.map((_, unit) => (winners.has(unit) ? 'won' : 'lost'))
  }
