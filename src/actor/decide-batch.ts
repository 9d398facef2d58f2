import { clockAfter, newId } from '../ids.ts'
import type { OwedJob } from '../jobs/queue.ts'
import type { Unit } from '../commit/commit.ts'
import type { StoredEvent } from '../model/events.ts'
import type { React } from '../log/rule.ts'
import { claimOf, isOwn, type Kept, nameOf, replay } from '../commit/idempotency.ts'
import { outcomeUnknown, Refusal } from '../wire/refusals.ts'
import type { Reply } from '../wire/reply.ts'
import type { Prepared } from './prepare.ts'
import { evolve } from './evolve.ts'
import type { State } from './state.ts'
import type { Posted } from './work.ts'

/** What became of a batch: each command's answer or refusal, told once it is known to be true, and what to commit. */
export interface Decided {
  settle(): void
  unit: Unit
}

type Was = Pick<State, 'version' | 'lastEventId'>

/**
 * Decides commands one after another on the evolving states; a refusal leaves no trace for the next one.
 * The states run ahead of the database from here on: when the commit fails they are out of date, whatever was decided on
 * them, and must be thrown away. So they are not forked for each batch.
 */
export function decideBatch(prepared: Prepared, react: React): Decided {
  const { states, batch, kept: known } = prepared
  const before = states.map(({ version, lastEventId }) => ({ version, lastEventId }))
  const { now, newId, idsFor } = clockAfter(before.map(({ lastEventId }) => lastEventId))
  const events: StoredEvent[] = []
  const kept = new Map<string, Kept>()
  const settlements = batch.map((posted) => {
    const { work, resolve, reject } = posted
    try {
      const { caller, ifMatch, guard } = work
      const answered = guard && (known.get(nameOf(guard)) ?? kept.get(nameOf(guard)))
      const reply = answered && replay(answered, guard)
      if (reply) return () => resolve(reply)
      const past = toldTo(posted, prepared, events)
      const claims = work.ownIds?.map(claimOf)
      const claimed = claims && keysIn(claims, known, kept)
      const context = { caller, ifMatch, now, newId, newEventId: idsFor(work.id), past, claimed }
      const source = stateOf(states, work.projectId)
      const target = stateOf(states, work.otherProjectId ?? work.projectId)
      const { changes, answer, isBatch, isTold } = work.decide(source, context, target)
      const isNothing = changes.length === 0 && (!guard || isOwn(guard))
      const batch = isBatch ? source.version + 1 : undefined
      for (const change of changes) {
        const { version: seq } = evolve(stateOf(states, change.projectId), change)
        events.push({ ...change, seq, actorId: caller.userId, at: now, batch })
      }
      if (changes.length > 0) for (const claim of claims ?? []) kept.set(nameOf(claim), claim)
      const isRepeatable = guard && isOwn(guard) && (changes.length === 0 || isTold)
      if (guard && !isRepeatable) kept.set(nameOf(guard), { ...guard, ...(answer as unknown as Reply) })
      return () => (work.again && isNothing ? reject(outcomeUnknown()) : resolve(answer))
    } catch (error) {
      return () => reject(work.again && error instanceof Refusal ? outcomeUnknown() : error)
    }
  })
  for (const state of states) state.forgetDemanded()
  const heads = states.map((state, i) => headOf(state, before[i]!))
  const jobs = events.flatMap((event) => react(event).map((job) => outboxRow(event, job)))
  const unit = { heads, events, jobs, kept: [...kept.values()] }
  return { settle: () => settlements.forEach((tell) => tell()), unit }
}

/** The keys among these that are kept already, in the database or by a command before. */
const keysIn = (claims: Kept[], ...all: ReadonlyMap<string, Kept>[]): string[] =>
  claims.flatMap((claim) => (all.some((kept) => kept.has(nameOf(claim))) ? claim.key : []))

/** @throws Refusal why the command was rejected while its batch was prepared */
function toldTo(posted: Posted, { pasts, rejected }: Prepared, decided: readonly StoredEvent[]) {
  const refusal = rejected.get(posted)
  if (refusal) throw refusal
  const past = pasts.get(posted)
  return past && { ...past, decided }
}

const headOf = ({ projectId, version, lastNumber, lastEventId }: State, was: Was) => ({
  ...{ projectId, expected: was.version, expectedEventId: was.lastEventId },
  ...{ version, lastNumber, lastEventId },
})

const stateOf = (states: State[], projectId: string): State =>
  states.find((state) => state.projectId === projectId) as State

const outboxRow = (event: StoredEvent, job: Pick<OwedJob, 'name' | 'data'>): OwedJob => ({
  id: newId(),
  projectId: event.projectId,
  ...job,
})
