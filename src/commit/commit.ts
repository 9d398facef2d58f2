import { getTableName } from 'drizzle-orm'
import type { PostgresError } from 'postgres'
import type { Config } from '../config.ts'
import { newCommitCounts } from '../metrics/counts.ts'
import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { errorCode, isTransient } from '../postgres/errors.ts'
import { model } from '../model/model.ts'
import { idTaken } from '../responses/errors.ts'
import { parametersOf, type Shape, shapeOf, widestShape } from './parameter-lists.ts'
import { commitStatement } from './statement.ts'
import { batchOf, type CommitUnit } from './unit.ts'

/**
 * `committed`: durable. `conflict`: a project has another version; nothing is written. `unknown`: the database did not
 * answer, so the unit may or may not be committed. An Error: the database rejected this unit; nothing is written.
 */
export type Outcome = 'committed' | 'conflict' | 'unknown' | Error

export type Commit = (unit: CommitUnit) => Promise<Outcome>

type CommitLimits = Pick<Config, 'commitSlots' | 'commitEvents' | 'commitShapes' | 'writeTimeoutMs'>

// Two concurrent commits cost 10 % more than one larger commit, so a commit waits this long for the previous commit.
const lingerMs = 25
const heavyEvents = 100

/** Group commit: units of many projects in one statement, one round trip and one flush of the write-ahead log. */
export function openCommit(sql: Sql, limits: CommitLimits, counts = newCommitCounts()): Commit {
  const write = openWrite(sql, openChooseStatement(limits.commitShapes))
  const { commitEvents: keys, commitSlots: slots } = limits
  const weigh = { limit: keys, heavy: heavyEvents, of: (unit: CommitUnit) => unit.events.length }
  // With a microtask, all units that the actors decide in one event-loop iteration go into one commit.
  const schedule = queueMicrotask
  const { waitSeconds: waits } = counts
  return batched({ keys, slots, weigh, schedule, lingerMs, waits }, async (units: CommitUnit[]) => {
    const began = performance.now()
    const outcomes = await inTime(limits.writeTimeoutMs, units, writeAll(write, units))
    counts.seconds.addSince(began)
    counts.events.add(units.reduce((sum, { events }) => sum + events.length, 0))
    for (const outcome of outcomes) counts.units[outcome instanceof Error ? 'refused' : labels[outcome]]++
    return outcomes
  })
}

/** The labels in metrics keep the names of earlier releases. */
const labels = { committed: 'won', conflict: 'lost', unknown: 'unknown' } as const

const unknown = (units: CommitUnit[]) => units.map((): Outcome => 'unknown')

function inTime(ms: number, units: CommitUnit[], written: Promise<Outcome[]>): Promise<Outcome[]> {
  const { promise: late, resolve } = Promise.withResolvers<Outcome[]>()
  const timer = setTimeout(() => resolve(unknown(units)), ms)
  return Promise.race([written, late]).finally(() => clearTimeout(timer))
}

/** Writes all units together. If the database rejects them, writes each separately: only the faulty unit then fails. */
async function writeAll(write: Write, units: CommitUnit[]): Promise<Outcome[]> {
  try {
    return await write(units)
  } catch (error) {
    if (isTransient(error)) return unknown(units)
    if (units.length === 1)
      return [isKeyTaken(error) ? 'conflict' : isIdTaken(error) ? idTaken() : (error as Error)]
  }
  const outcomes: Outcome[] = []
  for (const unit of units) outcomes.push(...(await writeAll(write, [unit])))
  return outcomes
}

/** Another project's commit used the Idempotency-Key first: the next attempt finds its record. */
const isKeyTaken = (error: unknown): boolean =>
  (error as Partial<PostgresError>).table_name === 'idempotency_keys' && errorCode(error) === '23505'

/** True if another project used the id first: an insert violates the primary key, an upsert sets `task_id` to null. */
const isIdTaken = (error: unknown): boolean =>
  (errorCode(error) === '23505' && isPrimaryKey((error as PostgresError).constraint_name)) ||
  (errorCode(error) === '23502' && (error as PostgresError).column_name === 'task_id')
const isPrimaryKey = (name = '') => model().all.some(({ table }) => name === `${getTableName(table)}_pkey`)

type Write = (units: CommitUnit[]) => Promise<Outcome[]>

const openWrite =
  (sql: Sql, choose: ChooseStatement): Write =>
  async (units) => {
    const batch = batchOf(units)
    const { shape, text } = choose(shapeOf(units, batch))
    const [row] = await sql.unsafe<{ committed: string | null }[]>(text, parametersOf(shape, batch), {
      prepare: true,
    })
    const committed = new Set(row?.committed?.split(' '))
    return units.map((_, unit) => (committed.has(String(unit)) ? 'committed' : 'conflict'))
  }

type ChooseStatement = (shape: Shape) => { shape: Shape; text: string }

/**
 * A prepared statement takes about 0.4 MiB on each connection, and 100,000 shapes are possible. So only the first
 * `maxStatements` shapes get their own statement. All other batches use the statement of `widestShape`.
 */
export function openChooseStatement(maxStatements: number): ChooseStatement {
  const texts = new Map<string, string>()
  return (wanted) => {
    const hasOwn = texts.has(JSON.stringify(wanted)) || texts.size < maxStatements
    const shape = hasOwn ? wanted : widestShape(wanted)
    const key = JSON.stringify(shape)
    const text = texts.get(key) ?? commitStatement(shape)
    texts.set(key, text)
    return { shape, text }
  }
}
