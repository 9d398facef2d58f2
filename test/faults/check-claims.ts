import { model } from '../../modules/modules.ts'
import { worker } from '../../workers/cascade.ts'
import { eventsOfBatch } from './check-batches.ts'
import { eventsOfUndo } from './check-undos.ts'
import { eventTypes, mismatch, viewOf, withoutPeople } from './claims.ts'
import type { Evidence, Fact, KeptAnswer } from './evidence.ts'
import { type Operation, outcomeOf } from './history.ts'

export interface Claims {
  faults: string[]
  /** Event id → the request that made it, with the end of its time open when nobody was told. */
  makers: Map<string, Operation>
  /** Outcomes nobody was told, by what the database says. */
  resolved: { applied: number; notApplied: number; late: number }
}

/**
 * Each acknowledged write made exactly one event, which is what was asked and what was answered; nothing refused
 * made any; what nobody knows is resolved by the answer kept in the same commit; and no event is left unexplained.
 */
export function claim(
  writes: Operation[],
  { facts, kept, people }: Pick<Evidence, 'facts' | 'kept' | 'people'>,
): Claims {
  const claims: Claims = { faults: [], makers: new Map(), resolved: { applied: 0, notApplied: 0, late: 0 } }
  const byEtag = new Map(facts.map((fact) => [`"${fact.id}"`, fact]))
  const find = finderOf(facts, byEtag, claims.makers)
  const made = { batch: eventsOfBatch, undo: eventsOfUndo }
  const inOrder = writes.toSorted((a, b) => a.start - b.start)
  for (const operation of inOrder) {
    const answer = kept.get(operation.key)
    const known = resolve(operation, answer, claims)
    if (!known) continue
    const many = made[operation.kind as keyof typeof made]
    const fault = many
      ? settleMany(known, answer && many(known, answer, byEtag, people), claims.makers)
      : settleOne(operation, find(operation, answer), known, claims.makers)
    if (fault) claims.faults.push(`${say(operation)} ${fault}`)
  }
  claimDepartures(facts, claims.makers)
  for (const { id, type, entity, projectId, seq, actorId, entityId } of facts) {
    // Requests about webhooks are not recorded: hooks.ts sends them.
    const isBeside =
      model.entities[entity].untold !== undefined || (actorId === worker && type === 'task.unassigned')
    if (!claims.makers.has(id) && !isBeside)
      claims.faults.push(`${type} of ${entityId} (${projectId} ${seq}) was done by nobody's request`)
  }
  return claims
}

function resolve(
  operation: Operation,
  answer: KeptAnswer | undefined,
  claims: Claims,
): Operation | undefined {
  const { resolved, faults } = claims
  const outcome = outcomeOf(operation)
  if (outcome === 'done') {
    if (!answer) faults.push(`${say(operation)} was acknowledged and left no answer under its key`)
    else if (answer.status !== operation.status || answer.etag !== operation.etag)
      faults.push(`${say(operation)} was answered otherwise than what is kept: ${JSON.stringify(answer)}`)
    return operation
  }
  if (outcome === 'unknown') resolved[answer ? 'applied' : 'notApplied']++
  if (!answer) return undefined
  // A try that nobody heard of may be carried out after a later one was refused.
  if (outcome === 'refused' && operation.failures.length > 0) resolved.late++
  else if (outcome === 'refused')
    faults.push(`${say(operation)} was refused with ${operation.status} and took effect`)
  return { ...operation, end: Infinity }
}

function settleMany(
  known: Operation,
  made: Fact[] | string | undefined,
  makers: Map<string, Operation>,
): string | undefined {
  if (!made) return 'left no answer'
  if (typeof made === 'string') return made
  const others = made.map(({ id }) => makers.get(id)).find(Boolean)
  if (others) return `made the same events as ${say(others)}`
  for (const { id } of made) makers.set(id, known)
  return undefined
}

function settleOne(
  operation: Operation,
  fact: Fact | undefined,
  known: Operation,
  makers: Map<string, Operation>,
) {
  if (!fact) return 'is nowhere in the history'
  const wrong = mismatch(operation, fact)
  if (wrong) return wrong
  const isTold = outcomeOf(operation) === 'done' && fact.after
  if (isTold && viewOf(fact.entity, fact.after!) !== withoutPeople(operation.text))
    return `was answered ${operation.text}, the history has ${JSON.stringify(fact.after)}`
  const { kind, callerId } = operation
  const isOwn = fact.type === 'member.role_set' && fact.actorId === callerId && fact.undoes == null
  const others = makers.has(fact.id) || !isOwn
  const changesNothing = kind === 'member.role' && others
  if (changesNothing) return undefined
  if (makers.has(fact.id)) return `is the same event as ${say(makers.get(fact.id)!)}`
  makers.set(fact.id, known)
  return undefined
}

/** The rest of a move, which has the ids just before that of the last arrival. */
function claimDepartures(facts: Fact[], makers: Map<string, Operation>): void {
  const moves = facts.filter(({ type }) => type === 'task.moved_out' || type === 'task.moved_in')
  for (const moved of Map.groupBy(moves, ({ entityId }) => entityId).values()) {
    let maker: Operation | undefined
    for (const { id, type } of moved.sort((a, b) => (a.id < b.id ? 1 : -1))) {
      maker = makers.get(id) ?? maker
      if (maker) makers.set(id, maker)
      if (type === 'task.moved_out') maker = undefined
    }
  }
}

/** Finds the event of a request: by the ETag of its answer, or where nothing is left, by what is gone in the same commit. */
function finderOf(facts: Fact[], byEtag: Map<string, Fact>, makers: Claims['makers']) {
  const gone = facts.filter(({ after, undoes }) => !after && undoes == null)
  const ends = Map.groupBy(gone, ({ type, entityId, xact }) => `${type} ${entityId} ${xact}`)
  return ({ kind, about, etag: told }: Operation, answer: KeptAnswer | undefined) => {
    const etag = answer?.etag ?? told
    if (etag) return byEtag.get(etag)
    const here = ends.get(`${eventTypes[kind]?.[0]} ${about.id} ${answer?.xact}`)
    return here?.find(({ id }) => !makers.has(id)) ?? here?.[0]
  }
}

export const say = ({ kind, key, path, body }: Operation): string =>
  `${kind} ${key} ${path}${body ? ` ${JSON.stringify(body)}` : ''}`
