import { isPassing } from '../postgres/errors.ts'
import { unavailable } from '../wire/refusals.ts'
import type { Versions } from '../reads/versions.ts'
import type { Commit, Unit } from '../commit/commit.ts'
import type { Posted } from './work.ts'
import { decideBatch } from './decide-batch.ts'
import { type FindLanded, withoutLanded } from './landed.ts'
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
  loader: Loader
  findLanded: FindLanded
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
export async function transact(by: Transactor, holders: Holder[], batch: Posted[]): Promise<void> {
  let refused: Error | null = null
  for (let attempt = 0; ; attempt++) {
    batch = inTime(batch)
    if (batch.length === 0) return
    if (attempt > 0) await pause(attempt)
    try {
      const states = await load(by.loader, holders, batch)
      // An earlier attempt whose answer was lost may stand, also one that arrives only now.
      batch = await withoutLanded(by.findLanded, states, batch)
      if (refused) return batch.forEach(({ reject }) => reject(refused))
      if (batch.length === 0) return
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
      // The database refused the batch: each command alone, so that only the bad one fails.
      if (outcome instanceof Error && batch.length > 1) return await apart(by, holders, batch)
      if (outcome instanceof Error) refused = outcome
    } catch (error) {
      forget(holders)
      if (!isPassing(error)) return batch.forEach(({ reject }) => reject(error))
    }
  }
}

async function apart(by: Transactor, holders: Holder[], batch: Posted[]): Promise<void> {
  for (const posted of batch) await transact(by, holders, [posted])
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
