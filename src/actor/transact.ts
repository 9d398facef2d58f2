import type { Sql } from '../postgres/database.ts'
import { isPassing } from '../postgres/errors.ts'
import { unavailable } from '../wire/refusals.ts'
import type { Versions } from '../reads/versions.ts'
import type { Commit, Unit } from '../commit/commit.ts'
import type { Posted } from './work.ts'
import { type Decided, decideBatch } from './decide-batch.ts'
import type { React } from '../facts/facts.ts'
import { type FindKept, type Kept, nameOf } from '../commit/idempotency.ts'
import type { Loader } from './load.ts'
import type { State } from './state.ts'

/** What an actor lends to a commit: its project's warm state, which is dropped when it proves stale. */
export interface Holder {
  readonly projectId: string
  state: State | null
}

export interface Transactor {
  sql: Sql
  loader: Loader
  versions: Pick<Versions, 'isCurrent'>
  commit: Commit
  findKept: FindKept
  react: React
  /** Told what was just committed: for all that follows a commit. What it is told may be lost, and stands in the database. */
  onCommitted(unit: Unit): void
}

/**
 * Brings a batch of commands from "waiting" to "answered". Every answer is the truth of one version: a commit
 * proves it by its comparison, a batch that changes nothing by reading the version once more.
 */
export async function transact(
  by: Transactor,
  holders: Holder[],
  batch: Posted[],
  before: readonly Decided[] = [],
): Promise<void> {
  const tried = [...before]
  for (let attempt = 0; ; attempt++) {
    batch = inTime(batch)
    if (batch.length === 0) return
    if (attempt > 0) await pause(attempt)
    try {
      const states = await load(by.loader, holders, batch)
      // An earlier attempt whose answer was lost may stand, also when it arrives only now.
      const landed = await findLanded(by.sql, tried)
      if (landed) return landed.settle()
      const decided = decideBatch(states, batch, by.react, await findKept(by, batch))
      if (decided.unit.events.length + decided.unit.kept.length === 0) {
        if (await areCurrent(by, states)) return decided.settle()
        forget(holders)
        continue
      }
      const outcome = await by.commit(decided.unit)
      if (outcome === 'won') {
        decided.settle()
        by.onCommitted(decided.unit)
        return
      }
      forget(holders)
      if (outcome instanceof Error) return await apart(by, holders, batch, { outcome, tried })
      tried.push(decided)
    } catch (error) {
      forget(holders)
      if (!isPassing(error)) return batch.forEach(({ reject }) => reject(error))
    }
  }
}

/**
 * The database refused the batch: each command alone, so that only the bad one fails. What was tried before with all
 * may still arrive, and then no command is decided again.
 */
async function apart(
  by: Transactor,
  holders: Holder[],
  batch: Posted[],
  { outcome, tried }: { outcome: Error; tried: Decided[] },
): Promise<void> {
  if (batch.length === 1) {
    const landed = await findLanded(by.sql, tried)
    return landed ? landed.settle() : batch[0]!.reject(outcome)
  }
  for (const posted of batch) await transact(by, holders, [posted], tried)
}

async function load(loader: Loader, holders: Holder[], batch: Posted[]): Promise<State[]> {
  const needs = batch.flatMap(({ work }) => work.needs ?? [])
  const states: State[] = []
  for (const holder of holders) {
    holder.state ??= await loader.state(holder.projectId)
    if (needs.length > 0) await loader.rows(holder.state, needs)
    states.push(holder.state)
  }
  return states
}

const noneKept = new Map<string, Kept>()

/** What the batch's Idempotency-Keys were answered before. Mostly there are none, and nothing is asked. */
async function findKept(by: Transactor, batch: Posted[]): Promise<Map<string, Kept>> {
  const guards = batch.flatMap(({ work }) => work.guard ?? [])
  if (guards.length === 0) return noneKept
  const kept = await Promise.all(guards.map((guard) => by.findKept(guard)))
  return new Map(kept.flatMap((answer) => (answer ? [[nameOf(answer), answer] as const] : [])))
}

async function areCurrent({ versions }: Transactor, states: State[]): Promise<boolean> {
  return (await Promise.all(states.map(versions.isCurrent))).every(Boolean)
}

/** The attempt whose own first event stands in the history, if any does: a commit is all or nothing. */
async function findLanded(sql: Sql, tried: Decided[]): Promise<Decided | undefined> {
  for (const decided of tried) {
    const [event] = decided.unit.events
    if (!event) continue // only answers to keep, and those are looked up each time
    const { projectId, seq, id } = event
    const found =
      await sql`select 1 from events where project_id = ${projectId} and seq = ${seq} and id = ${id}`
    if (found.length) return decided
  }
  return undefined
}

function inTime(batch: Posted[]): Posted[] {
  const now = performance.now()
  if (batch.every(({ deadline }) => deadline > now)) return batch
  const late = batch.filter(({ deadline }) => deadline <= now)
  for (const { reject } of late) reject(tooLate())
  return batch.filter(({ deadline }) => deadline > now)
}

export const tooLate = () => unavailable('The write could not be finished in time')

const forget = (holders: Holder[]) => holders.forEach((holder) => (holder.state = null))

/** Grows to half a second, with jitter, so that processes without a lease do not collide in step. */
const pause = (attempt: number) =>
  new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(5 * 2 ** attempt, 500)))
