import {
  claimOf,
  type FindRecord,
  type IdempotencyKey,
  isOwn,
  type IdempotencyRecord,
  nameOf,
} from '../commit/idempotency.ts'
import { isAhead, isCreatedAfter } from '../ids.ts'
import type { Past, ReadPast } from '../log/past.ts'
import { outcomeUnknown, HttpError, writeTimedOut } from '../responses/errors.ts'
import { within } from '../within.ts'
import type { FindLanded } from './landed.ts'
import type { Loader } from './load.ts'
import type { Preload } from './preload.ts'
import type { QueuedCommand } from './queued-command.ts'
import type { State } from './state.ts'

export interface Asks {
  loader: Loader
  findLanded: FindLanded
  findKept: FindRecord
  readPast: ReadPast
}

/** An actor as a commit uses it: with the project's warm state, which is dropped when it proves stale. */
export interface Holder {
  readonly projectId: string
  state: State | null
}

export interface Prepared {
  states: State[]
  /** The commands still to be decided: not those that are already committed. */
  batch: QueuedCommand[]
  /** The replies that the batch's Idempotency-Keys got before, and the claimed ids, by their names. */
  kept?: Map<string, IdempotencyRecord>
}

/** True when nothing must be loaded before these commands are decided. */
export function isWarm(holders: Holder[], batch: QueuedCommand[]): boolean {
  for (const { state } of holders) {
    if (!state) return false
    for (const { needs, rejection } of batch) if (rejection || !state.knowsAll(needs)) return false
  }
  const states = holders.map(({ state }) => state!)
  return batch.every(
    (command) => !keyToFind(states, command) && !(command.isRecallable && isSuspect(states, command)),
  )
}

/**
 * Loads what the batch needs, and answers the commands in it that are already committed. Versions and roles come first:
 * nothing is loaded for a command that those reject.
 */
export async function prepare(asks: Asks, holders: Holder[], batch: QueuedCommand[]): Promise<Prepared> {
  const states: State[] = []
  for (const holder of holders) states.push((holder.state ??= await asks.loader.state(holder.projectId)))
  const admitted = batch.filter((command) => isAuthorized(states, command))
  await loadRows(asks.loader, states, admitted)
  const rest = await withoutLanded(asks.findLanded, states, batch)
  const [kept] = await Promise.all([
    findKept(asks.findKept, states, rest),
    ...rest.map((command) => readPast(asks, states, command)),
  ])
  return { states, kept, batch: rest }
}

function isAuthorized(states: State[], command: QueuedCommand): boolean {
  command.rejection = command.past = undefined
  if (!command.needs) return true
  try {
    command.authorize(stateOf(states, command.projectId), logOf(states, command))
  } catch (error) {
    reject(command, error)
  }
  return !command.rejection
}

/** Keeps the error until the version of the batch has proved current. @throws all but Refusals */
function reject(command: QueuedCommand, error: unknown): void {
  if (!(error instanceof HttpError)) throw error
  command.rejection = error
}

/** Reads what the command asks of the log, up to the version of its project, with the rows that the events are about. */
async function readPast({ readPast, loader }: Asks, states: State[], command: QueuedCommand): Promise<void> {
  const { caller, projectId, deadline, needs } = command
  if (!needs?.past || command.rejection) return
  const state = stateOf(states, projectId)
  const at = { projectId, version: state.version, caller, role: state.roleOf(caller.userId) }
  try {
    const past = await beforeDeadline(deadline, readPast(at, needs.past))
    await loader.rows(state, [neededBy(past)])
    command.past = { ...past, decided: [] }
  } catch (error) {
    reject(command, error)
  }
}

/** @throws HttpError 503 when the deadline passes: what is still under way is not waited for */
async function beforeDeadline<T extends object>(deadline: number, work: Promise<T>): Promise<T> {
  const done = await within(deadline - performance.now(), work)
  if (done === undefined) throw writeTimedOut()
  return done
}

function neededBy({ events, taken }: Past): Preload {
  const task = events.flatMap(({ taskId }) => taskId ?? [])
  const theirs = [...taken.values()].flat().map(({ entityId }) => entityId)
  const needs: Preload = { task: [...task, ...theirs] }
  for (const { entity, entityId } of events) if (entity !== 'task') (needs[entity] ??= []).push(entityId)
  return needs
}

async function loadRows(loader: Loader, states: State[], batch: QueuedCommand[]): Promise<void> {
  const needs = batch.flatMap(({ needs }) => needs ?? [])
  if (needs.length === 0) return
  const loaded = Promise.all(states.map((state) => loader.rows(state, needs)))
  // What leaves with a task may be much: its command comes alone, and stops when its caller gives up.
  await (needs.some(({ leaving }) => leaving) ? beforeDeadline(batch[0]!.deadline, loaded) : loaded)
}

/** What the batch's Idempotency-Keys were answered before, and which ids of clients are claimed. */
async function findKept(
  find: FindRecord,
  states: State[],
  batch: QueuedCommand[],
): Promise<Map<string, IdempotencyRecord>> {
  const guards = batch.flatMap((command): IdempotencyKey[] => {
    const claims = command.ownIds?.map(claimOf) ?? []
    return [...claims, keyToFind(states, command) ?? []].flat()
  })
  const kept = await Promise.all(guards.map(find))
  return new Map(kept.flatMap((answer) => (answer ? [[nameOf(answer), answer]] : [])))
}

/** Answers the commands that are already committed, and returns the others. As a rule none can be, and nothing is read. */
async function withoutLanded(
  find: FindLanded,
  states: State[],
  batch: QueuedCommand[],
): Promise<QueuedCommand[]> {
  const suspects = batch.filter((command) => command.isRecallable && isSuspect(states, command))
  if (suspects.length === 0) return batch
  const { projectId, version } = logOf(states, suspects[0]!)
  const ids = suspects.map(({ id }) => id)
  const landed = await find(projectId, version, ids)
  return batch.filter((command) => {
    const event = landed.get(command.id)
    const answer = event ? command.recall(event, logOf(states, command)) : undefined
    if (answer !== undefined) command.resolve(answer)
    const isUnknown = event === null && command.again === true
    if (isUnknown) command.reject(outcomeUnknown())
    return answer === undefined && !isUnknown
  })
}

/** The key whose reply must be looked up: the command's own key only when the command may be in the log. */
const keyToFind = (states: State[], command: QueuedCommand): IdempotencyKey | undefined =>
  command.guard && isOwn(command.guard) && !isSuspect(states, command) ? undefined : command.guard

/**
 * Whether a command may be in the log. A committed command is either older than the latest event found when the state was
 * loaded, or came of this very state: then only a retried command is decided twice.
 */
export function isSuspect(states: State[], command: QueuedCommand): boolean {
  if (command.again) return true
  const { loaded } = logOf(states, command)
  // Where a log is ahead of the clock, ids do not tell: a command that was made after it was loaded is not in it.
  return loaded.eventId >= command.id && !(isCreatedAfter(command.id, loaded.at) && isAhead(loaded.eventId))
}

/** The state of the project that gets the command's first event: the target of a move. */
export const logOf = (states: State[], { projectId, otherProjectId = projectId }: QueuedCommand): State =>
  stateOf(states, otherProjectId)

export const stateOf = (states: State[], projectId: string): State =>
  states.length === 1 ? states[0]! : states.find((state) => state.projectId === projectId)!
