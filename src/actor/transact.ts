import { setTimeout as sleep } from 'node:timers/promises'
import type { Commit, Outcome } from '../commit/commit.ts'
import type { CommitUnit } from '../commit/unit.ts'
import type { Reactions } from '../log/rule.ts'
import type { Hits } from '../metrics/counts.ts'
import { FactNeeded } from '../model/facts.ts'
import { isTransient } from '../postgres/errors.ts'
import type { Versions } from '../reads/versions.ts'
import { decideBatch, isWarm, type Prepared, sendOutcomes, type StatefulActor } from './decide-batch.ts'
import { type PrepareDependencies, prepare } from './prepare.ts'
import { type QueuedCommand, rejectLate, rejectWith } from './queued-command.ts'
import type { State } from './state.ts'

export interface TransactDependencies extends PrepareDependencies {
  versions: Pick<Versions, 'isCurrent'>
  commit: Commit
  react: Reactions
  counts?: Hits
  /** Called after each commit, but not if the process crashes first: correctness must not depend on this call. */
  onCommitted(unit: CommitUnit): void
}

/**
 * Decides and commits a batch, repeatedly until the outcome is certain, and then sends the replies. If nothing must be
 * loaded, the batch reaches the group commit before this call returns, so that projects of one event-loop iteration
 * share a commit.
 */
export async function transact(
  by: TransactDependencies,
  actors: StatefulActor[],
  batch: QueuedCommand[],
): Promise<void> {
  let rejection: Error | null = null
  for (let attempt = 0; ; attempt++) {
    batch = rejectExpired(batch)
    if (batch.length === 0) return
    if (attempt > 0) await backOff(attempt)
    try {
      const warm = isWarm(actors, batch)
      if (by.counts) by.counts[warm ? 'hits' : 'misses']++
      const prepared: Prepared = warm
        ? { states: actors.map(stateOf), batch }
        : await prepare(by, actors, batch)
      if (!warm) batch = prepared.batch = rejectExpired(prepared.batch)
      if (rejection) return batch.forEach((command) => rejectWith(command, rejection))
      const unit = decideBatch(prepared, by.react)
      const changes = unit.events.length + unit.records.length > 0
      const outcome = await (changes ? by.commit(unit) : verify(by, prepared.states))
      if (outcome === 'committed') {
        sendOutcomes(batch)
        return changes ? by.onCommitted(unit) : undefined
      }
      dropStates(actors)
      if (outcome === 'unknown') noteUnknown(batch, unit)
      if (outcome instanceof Error && batch.length > 1) return transactEach(by, actors, batch)
      if (outcome instanceof Error) rejection = outcome
    } catch (error) {
      dropStates(actors)
      if (isTransient(error) || error instanceof FactNeeded) continue
      if (batch.length > 1) return transactEach(by, actors, batch)
      return batch.forEach((command) => rejectWith(command, error))
    }
  }
}

/** Gives each command of a rejected batch a commit of its own, so that only the faulty command fails. */
async function transactEach(by: TransactDependencies, actors: StatefulActor[], batch: QueuedCommand[]) {
  for (const command of batch) await transact(by, actors, [command])
}

function noteUnknown(batch: QueuedCommand[], { heads }: CommitUnit): void {
  for (const command of batch)
    if (!command.isRejected)
      command.unknownAt = heads.find(({ projectId }) => projectId === command.projectId)!.expected
}

const stateOf = ({ state }: StatefulActor): State => state!

/** A batch without changes has no compare-and-swap, so the version is read again: replies must be current. */
async function verify({ versions }: TransactDependencies, states: State[]): Promise<Outcome> {
  const areCurrent = await Promise.all(states.map(versions.isCurrent))
  return areCurrent.every(Boolean) ? 'committed' : 'conflict'
}

function rejectExpired(batch: QueuedCommand[]): QueuedCommand[] {
  const now = performance.now()
  if (batch.every(({ deadline }) => deadline > now)) return batch
  for (const command of batch) if (command.deadline <= now) rejectLate(command)
  return batch.filter(({ deadline }) => deadline > now)
}

const dropStates = (actors: StatefulActor[]) => actors.forEach((actor) => (actor.state = null))

/** Exponential, at most half a second, with jitter: without leases, several processes may retry at the same time. */
const backOff = (attempt: number) => sleep(Math.random() * Math.min(5 * 2 ** attempt, 500))
