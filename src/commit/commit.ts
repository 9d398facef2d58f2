import { getTableName } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import type { PostgresError } from 'postgres'
import type { Config } from '../config.ts'
import { newCommitCounts } from '../metrics/counts.ts'
import { grouped } from '../postgres/grouped.ts'
import type { Database, Sql } from '../postgres/database.ts'
import { errorCode, isLockTimeout, isTransient, mayBeWritten } from '../postgres/errors.ts'
import { model } from '../model/model.ts'
import { idTaken } from '../responses/errors.ts'
import { commitStatement, parametersOf, type Shape, shapeOf, widestShape } from './statement.ts'
import { recordName } from './idempotency.ts'
import { groupOf, type CommitUnit } from './unit.ts'

/**
 * `committed`: the unit is durable. `conflict`: nothing is written, because a project has another version, a row is
 * locked, or Postgres reported a temporary error. `unknown`: Postgres did not answer, so the unit may or may not be
 * committed. An Error: Postgres rejected this unit; nothing is written.
 */
export type Outcome = 'committed' | 'conflict' | 'unknown' | Error

export type Commit = (unit: CommitUnit) => Promise<Outcome>

// Two concurrent commits cost 10 % more than one larger commit. So a commit waits at most this long for the previous
// commit.
const lingerMs = 25
const heavyEvents = 100
const maxLockedProjects = 10_000

/**
 * Group commit: units of many projects in one statement, one round trip and one flush of the write-ahead log. After a
 * project met a locked row, its units are committed by separate statements, one at a time, until a commit succeeds. So
 * other projects do not wait for the lock.
 */
export function openCommit(
  { commits, commitsApart }: Pick<Database, 'commits' | 'commitsApart'>,
  limits: Config,
  counts = newCommitCounts(),
): Commit {
  const locked = new LRUCache<string, true>({ max: maxLockedProjects })
  const chooseStatement = openChooseStatement(limits.lockTimeoutMs)
  const { commitEvents, commitProjects } = limits
  // The units that wait have different projects, because an actor commits one unit at a time.
  const keys = Math.min(commitEvents, commitProjects)
  const weigh = { limit: commitEvents, heavy: heavyEvents, of: (unit: CommitUnit) => unit.events.length }
  // With a microtask, all units that the actors decide in one event-loop iteration go into one commit.
  const grouping = { keys, weigh, schedule: queueMicrotask, lingerMs, waits: counts.waitSeconds }
  const openGroups = (sql: Sql, slots: number, skipsLocked: boolean) => {
    const writeAll = openWriteAll(sql, chooseStatement, locked)
    return grouped({ ...grouping, slots }, async (units: CommitUnit[]) => {
      const began = performance.now()
      const sent = units.filter(({ deadline }) => deadline > began)
      for (const unit of sent) unit.isSent = true
      const outcomes =
        sent.length > 0 ? await inTime(limits.writeTimeoutMs, sent, writeAll(sent, skipsLocked)) : []
      sent.forEach((unit, n) => (unit.isSent = outcomes[n] === 'committed' || outcomes[n] === 'unknown'))
      counts.seconds.addSince(began)
      counts.events.add(units.reduce((sum, { events }) => sum + events.length, 0))
      for (const outcome of outcomes) counts.units[outcome instanceof Error ? 'refused' : labels[outcome]]++
      // A unit that was not sent because its deadline has passed is decided again, without its expired commands.
      return sent.length === units.length
        ? outcomes
        : units.map((unit) => outcomes[sent.indexOf(unit)] ?? 'conflict')
    })
  }
  // A connection behind a pooler has no lock timeout, but the statements that skip locked projects set it.
  const commit = openGroups(commits, limits.commitSlots, limits.databasePooler !== 'off')
  const commitApart = openGroups(commitsApart, 1, true)
  const isLocked = ({ heads }: CommitUnit) => heads.some(({ projectId }) => locked.has(projectId))
  return (unit) => (locked.size > 0 && isLocked(unit) ? commitApart(unit) : commit(unit))
}

/** The labels in metrics keep the names of earlier releases. */
const labels = { committed: 'won', conflict: 'lost', unknown: 'unknown' } as const

const unknown = (units: CommitUnit[]) => units.map((): Outcome => 'unknown')

function inTime(ms: number, units: CommitUnit[], written: Promise<Outcome[]>): Promise<Outcome[]> {
  const { promise: late, resolve } = Promise.withResolvers<Outcome[]>()
  const timer = setTimeout(() => resolve(unknown(units)), ms)
  return Promise.race([written, late]).finally(() => clearTimeout(timer))
}

/**
 * Writes all units together. If the database rejects them, writes each separately: only the faulty unit then fails.
 * After a lock timeout, `skipsLocked` writes the units that meet no locked row, and remembers the projects of the others.
 */
function openWriteAll(
  sql: Sql,
  choose: ReturnType<typeof openChooseStatement>,
  locked: LRUCache<string, true>,
) {
  async function write(units: CommitUnit[], skipsLocked: boolean): Promise<Outcome[]> {
    const group = groupOf(units)
    const { shape, text } = choose(shapeOf(units, group, skipsLocked))
    const parameters = parametersOf(shape, group)
    const [row] = await sql.unsafe<{ committed: string | null }[]>(text, parameters, { prepare: true })
    const committed = new Set(row?.committed?.split(' '))
    return units.map((_, unit) => (committed.has(String(unit)) ? 'committed' : 'conflict'))
  }
  const remember = (units: CommitUnit[], outcomes: Outcome[]) => {
    for (const [n, { heads }] of units.entries())
      for (const { projectId } of heads)
        if (outcomes[n] === 'conflict') locked.set(projectId, true)
        else locked.delete(projectId)
    return outcomes
  }

  return async function writeAll(units: CommitUnit[], skipsLocked: boolean, repeats = 0): Promise<Outcome[]> {
    try {
      const outcomes = await write(units, skipsLocked)
      return skipsLocked ? remember(units, outcomes) : outcomes
    } catch (error) {
      if (mayBeWritten(error)) return unknown(units)
      if (isLockTimeout(error)) {
        if (!skipsLocked) return writeAll(units, true)
        if (units.length === 1) return remember(units, ['conflict'])
      } else if (isTransient(error)) return units.map(() => 'conflict')
      else if (units.length === 1 && isKeyTaken(error)) return ['conflict']
      else if (units.length === 1) return [isIdTaken(error) ? idTaken() : (error as Error)]
      else if (isKeyTaken(error) && repeats < maxRepeats) {
        const firsts = new Set(firstOfEachKey(units))
        const outcomes = await writeAll([...firsts], skipsLocked, repeats + 1)
        return units.map((unit) => (firsts.has(unit) ? outcomes.shift()! : 'conflict'))
      }
    }
    const outcomes: Outcome[] = []
    for (const unit of units) outcomes.push(...(await writeAll([unit], skipsLocked)))
    return outcomes
  }
}

/**
 * The number of times that units are written together again because another statement, or another unit of the same
 * statement, has recorded one of their keys. The repeated statement finds the record, so only the unit with this key
 * writes nothing.
 */
const maxRepeats = 3

function firstOfEachKey(units: CommitUnit[]): CommitUnit[] {
  const seen = new Set<string>()
  return units.filter(({ records }) => {
    const names = records.map(recordName)
    if (names.some((name) => seen.has(name))) return false
    for (const name of names) seen.add(name)
    return true
  })
}

/** Another commit used a key, claimed an id or created a project first: the next attempt finds its record or project. */
const isKeyTaken = (error: unknown): boolean =>
  ['idempotency_keys', 'streams'].includes((error as PostgresError).table_name!) &&
  errorCode(error) === '23505'

/** True if another project used the id first: an insert violates the primary key, an upsert sets `task_id` to null. */
const isIdTaken = (error: unknown): boolean =>
  (errorCode(error) === '23505' && isPrimaryKey((error as PostgresError).constraint_name)) ||
  (errorCode(error) === '23502' && (error as PostgresError).column_name === 'task_id')
const isPrimaryKey = (name = '') => model().all.some(({ table }) => name === `${getTableName(table)}_pkey`)

/** The maximum number of texts of statements in memory. Connections limit their prepared statements themselves. */
const maxTexts = 500
/**
 * A group with more kinds of writes uses the statement of `widestShape`. Such groups rarely recur, and preparing a
 * statement costs more than the unused parts.
 */
const maxOwnWrites = 3

function openChooseStatement(lockTimeoutMs: number) {
  const texts = new LRUCache<string, string>({ max: maxTexts })
  return (wanted: Shape): { shape: Shape; text: string } => {
    const shape = wanted.writes.length > maxOwnWrites ? widestShape(wanted) : wanted
    const key = JSON.stringify(shape)
    const known = texts.get(key)
    if (known) return { shape, text: known }
    const text = commitStatement(shape, lockTimeoutMs)
    texts.set(key, text)
    return { shape, text }
  }
}
