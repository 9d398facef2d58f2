import { setTimeout as sleep } from 'node:timers/promises'
import type { Commit, Outcome } from '../commit/commit.ts'
import type { CommitUnit } from '../commit/unit.ts'
import type { React } from '../log/rule.ts'
import type { Hits } from '../metrics/counts.ts'
import { isTransient } from '../postgres/errors.ts'
import type { Versions } from '../reads/versions.ts'
import { writeTimedOut } from '../responses/errors.ts'
import { decideBatch, settle } from './decide-batch.ts'
import { type Asks, type Holder, isWarm, type Prepared, prepare } from './prepare.ts'
import type { QueuedCommand } from './queued-command.ts'
import type { State } from './state.ts'

export interface Transactor extends Asks {
  versions: Pick<Versions, 'isCurrent'>
  commit: Commit
  react: React
  counts?: Hits
  /** Called with each unit that was just committed. Its effects may be lost, because the database holds the unit. */
  onCommitted(unit: CommitUnit): void
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
      const warm = isWarm(holders, batch)
      if (by.counts) by.counts[warm ? 'hits' : 'misses']++
      const prepared: Prepared = warm
        ? { states: holders.map(stateOf), batch }
        : await prepare(by, holders, batch)
      if (!warm) batch = prepared.batch = inTime(prepared.batch)
      if (refused) return batch.forEach(({ reject }) => reject(refused))
      const unit = decideBatch(prepared, by.react)
      const changes = unit.events.length + unit.kept.length > 0
      const outcome = await (changes ? by.commit(unit) : verify(by, prepared.states))
      if (outcome === 'won') {
        settle(batch)
        return changes ? by.onCommitted(unit) : undefined
      }
      forget(holders)
      // The database refused the batch: each command alone, so that only the bad one fails.
      if (outcome instanceof Error && batch.length > 1) {
        for (const command of batch) await transact(by, holders, [command])
        return
      }
      if (outcome instanceof Error) refused = outcome
    } catch (error) {
      forget(holders)
      if (!isTransient(error)) return batch.forEach(({ reject }) => reject(error))
    }
  }
}

const stateOf = ({ state }: Holder): State => state!

/**
 * Every answer is the truth of one version: a commit proves it by its comparison, a batch that changes nothing by
 * reading the version once more.
 */
async function verify({ versions }: Transactor, states: State[]): Promise<Outcome> {
  const areCurrent = await Promise.all(states.map(versions.isCurrent))
  return areCurrent.every(Boolean) ? 'won' : 'lost'
}

function inTime(batch: QueuedCommand[]): QueuedCommand[] {
  const now = performance.now()
  if (batch.every(({ deadline }) => deadline > now)) return batch
  const [inTime, late] = [
    batch.filter(({ deadline }) => deadline > now),
    batch.filter(({ deadline }) => deadline <= now),
  ]
  for (const { reject } of late) reject(writeTimedOut())
  return inTime
}

const forget = (holders: Holder[]) => holders.forEach((holder) => (holder.state = null))

/** Grows to half a second, with jitter, so that processes without a lease do not collide in step. */
const pause = (attempt: number) => sleep(Math.random() * Math.min(5 * 2 ** attempt, 500))
