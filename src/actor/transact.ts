import { setTimeout as sleep } from 'node:timers/promises'
import type { Commit, Outcome } from '../commit/commit.ts'
import type { CommitUnit } from '../commit/unit.ts'
import type { Reactions } from '../log/rule.ts'
import type { Hits } from '../metrics/counts.ts'
import { FactNeeded } from '../model/facts.ts'
import { isTransient } from '../postgres/errors.ts'
import type { Versions } from '../reads/versions.ts'
import { decideGroup, isWarm, type Prepared, sendOutcomes, type StatefulActor } from './decide-group.ts'
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
 * Decides and commits a group, repeatedly until the outcome is certain, and then sends the replies. If nothing must be
 * loaded, the group reaches the group commit before this call returns, so that projects of one event-loop iteration
 * share a commit.
 */
export async function transact(
  by: TransactDependencies,
  actors: StatefulActor[],
  group: QueuedCommand[],
): Promise<void> {
  let rejection: Error | null = null
  for (let attempt = 0; ; attempt++) {
    group = rejectExpired(group)
    if (group.length === 0) return
    if (attempt > 0) await backOff(attempt)
    try {
      const warm = isWarm(actors, group)
      if (by.counts) by.counts[warm ? 'hits' : 'misses']++
      const prepared: Prepared = warm
        ? { states: actors.map(stateOf), group }
        : await prepare(by, actors, group)
      if (!warm) group = prepared.group = rejectExpired(prepared.group)
      if (rejection) return group.forEach((command) => rejectWith(command, rejection))
      const unit = decideGroup(prepared, by.react)
      const changes = unit.events.length + unit.records.length > 0
      const outcome = await (changes ? by.commit(unit) : verify(by, prepared.states))
      if (outcome === 'committed') {
        sendOutcomes(group)
        return changes ? by.onCommitted(unit) : undefined
      }
      dropStates(actors)
      if (outcome === 'unknown') noteUnknown(group, unit)
      if (outcome instanceof Error && group.length > 1) return transactEach(by, actors, group)
      if (outcome instanceof Error) rejection = outcome
    } catch (error) {
      dropStates(actors)
      if (isTransient(error) || error instanceof FactNeeded) continue
      if (group.length > 1) return transactEach(by, actors, group)
      return group.forEach((command) => rejectWith(command, error))
    }
  }
}

/** Gives each command of a rejected group a commit of its own, so that only the faulty command fails. */
async function transactEach(by: TransactDependencies, actors: StatefulActor[], group: QueuedCommand[]) {
  for (const command of group) await transact(by, actors, [command])
}

function noteUnknown(group: QueuedCommand[], { heads }: CommitUnit): void {
  for (const command of group)
    if (!command.isRejected)
      command.unknownAt = heads.find(({ projectId }) => projectId === command.projectId)!.expected
}

const stateOf = ({ state }: StatefulActor): State => state!

/** A group without changes has no compare-and-swap, so the version is read again: replies must be current. */
async function verify({ versions }: TransactDependencies, states: State[]): Promise<Outcome> {
  const areCurrent = await Promise.all(states.map(versions.isCurrent))
  return areCurrent.every(Boolean) ? 'committed' : 'conflict'
}

function rejectExpired(group: QueuedCommand[]): QueuedCommand[] {
  const now = performance.now()
  if (group.every(({ deadline }) => deadline > now)) return group
  for (const command of group) if (command.deadline <= now) rejectLate(command)
  return group.filter(({ deadline }) => deadline > now)
}

const dropStates = (actors: StatefulActor[]) => actors.forEach((actor) => (actor.state = null))

/** Exponential, at most half a second, with jitter: without leases, several processes may retry at the same time. */
const backOff = (attempt: number) => sleep(Math.random() * Math.min(5 * 2 ** attempt, 500))
