import { setTimeout as sleep } from 'node:timers/promises'
import { isPassing } from '../postgres/errors.ts'
import { tooLate } from '../wire/refusals.ts'
import type { Hits } from '../metrics/counts.ts'
import type { Versions } from '../reads/versions.ts'
import type { Commit, Outcome, Unit } from '../commit/commit.ts'
import type { React } from '../log/rule.ts'
import { decideBatch, settle } from './decide-batch.ts'
import { type Asks, prepare } from './prepare.ts'
import type { QueuedCommand } from './queued-command.ts'
import type { State } from './state.ts'
import { type Holder, warm } from './warm.ts'

export interface Transactor extends Asks {
  versions: Pick<Versions, 'isCurrent'>
  commit: Commit
  react: React
  /** How often a batch had all that it needs in memory. */
  counts?: Hits
  /** Told what was just committed: for all that follows a commit. What it is told may be lost, and stands in the database. */
  onCommitted(unit: Unit): void
}

/**
 * Brings a batch of commands from "waiting" to "answered". What is warm is decided and given to the commit before this
 * returns, so that projects decided in one turn of the loop share a commit.
 */
export async function transact(by: Transactor, holders: Holder[], batch: QueuedCommand[]): Promise<void> {
  let refused: Error | null = null
  for (let attempt = 0; ; attempt++) {
    batch = inTime(batch)
    if (batch.length === 0) return
    if (attempt > 0) await pause(attempt)
    try {
      const ready = warm(holders, batch)
      if (by.counts) by.counts[ready ? 'hits' : 'misses']++
      const prepared = ready ?? (await prepare(by, holders, batch))
      if (!ready) prepared.batch = inTime(prepared.batch)
      batch = prepared.batch
      if (refused) return batch.forEach(({ reject }) => reject(refused))
      const decided = decideBatch(prepared, by.react)
      const { events, kept } = decided.unit
      const changes = events.length + kept.length > 0
      const outcome = await (changes ? by.commit(decided.unit) : verify(by, prepared.states))
      if (outcome === 'won') {
        settle(decided)
        return changes ? by.onCommitted(decided.unit) : undefined
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

/**
 * Every answer is the truth of one version: a commit proves it by its comparison, a batch that changes nothing by
 * reading the version once more.
 */
async function verify({ versions }: Transactor, states: State[]): Promise<Outcome> {
  const areCurrent = await Promise.all(states.map(versions.isCurrent))
  return areCurrent.every(Boolean) ? 'won' : 'lost'
}

async function apart(by: Transactor, holders: Holder[], batch: QueuedCommand[]): Promise<void> {
  for (const command of batch) await transact(by, holders, [command])
}

function inTime(batch: QueuedCommand[]): QueuedCommand[] {
  const now = performance.now()
  const late = batch.filter(({ deadline }) => deadline <= now)
  if (late.length === 0) return batch
  for (const { reject } of late) reject(tooLate())
  return batch.filter(({ deadline }) => deadline > now)
}

const forget = (holders: Holder[]) => holders.forEach((holder) => (holder.state = null))

/** Grows to half a second, with jitter, so that processes without a lease do not collide in step. */
const pause = (attempt: number) => sleep(Math.random() * Math.min(5 * 2 ** attempt, 500))
