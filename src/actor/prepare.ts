import {
  idClaim,
  type FindRecord,
  type IdempotencyKey,
  type IdempotencyRecord,
  isCommandKey,
  recordName,
} from '../commit/idempotency.ts'
import type { StoredEvent } from '../model/events.ts'
import { definitionOf } from '../model/model.ts'
import { referencedTasks } from '../model/references.ts'
import type { UndoInput, ReadUndoInput } from '../log/undo-input.ts'
import { outcomeUnknown, HttpError, writeTimedOut } from '../responses/errors.ts'
import { within } from '../waits.ts'
import {
  firstEventState,
  mayBeCommitted,
  type Prepared,
  type StatefulActor,
  stateOf,
} from './decide-group.ts'
import type { FindCommitted } from './find-committed.ts'
import type { Loader } from './load.ts'
import type { Preload } from './preload.ts'
import type { QueuedCommand } from './queued-command.ts'
import type { State } from './state.ts'

export interface PrepareDependencies {
  loader: Loader
  findCommitted: FindCommitted
  findRecord: FindRecord
  readUndoInput: ReadUndoInput
}

/** Loads what the group needs. Roles are checked first, so that nothing more is loaded for a rejected command. */
export async function prepare(
  dependencies: PrepareDependencies,
  actors: StatefulActor[],
  group: QueuedCommand[],
): Promise<Prepared> {
  const states: State[] = []
  for (const actor of actors) states.push((actor.state ??= await dependencies.loader.state(actor.projectId)))
  const admitted = group.filter((command) => isAuthorized(states, command))
  await loadRows(dependencies.loader, states, admitted)
  const remaining = await withoutCommitted(dependencies, states, group)
  const [records] = await Promise.all([
    findRecords(dependencies.findRecord, states, remaining),
    ...remaining.map((command) => loadUndoInput(dependencies, states, command)),
  ])
  return { states, records, group: remaining }
}

function isAuthorized(states: State[], command: QueuedCommand): boolean {
  command.rejection = command.undo = undefined
  if (!command.preload) return true
  try {
    command.authorize(stateOf(states, command.projectId), firstEventState(states, command))
  } catch (error) {
    reject(command, error)
  }
  return !command.rejection
}

/** Stores an HttpError, which is sent only after the group's version is verified. @throws every other error */
function reject(command: QueuedCommand, error: unknown): void {
  if (!(error instanceof HttpError)) throw error
  command.rejection = error
}

async function loadUndoInput(
  { readUndoInput, loader }: PrepareDependencies,
  states: State[],
  command: QueuedCommand,
): Promise<void> {
  const { caller, projectId, deadline, preload } = command
  if (!preload?.undo || command.rejection) return
  const state = stateOf(states, projectId)
  const at = { projectId, version: state.version, caller, role: state.roleOf(caller.userId) }
  try {
    const input = await beforeDeadline(deadline, readUndoInput(at, preload.undo))
    await loader.rows(state, [preloadOfUndo(input)])
    command.undo = { ...input, pendingEvents: [] }
  } catch (error) {
    reject(command, error)
  }
}

/** @throws HttpError 503 when the deadline passes. `work` is not cancelled. */
async function beforeDeadline<T extends object>(deadline: number, work: Promise<T>): Promise<T> {
  const done = await within(deadline - performance.now(), work)
  if (done === undefined) throw writeTimedOut()
  return done
}

function preloadOfUndo({ events, unassignments }: UndoInput): Preload {
  const task = events.flatMap(({ taskId }) => taskId ?? [])
  const assigned = [...unassignments.values()].flat().map(({ entityId }) => entityId)
  const preload: Preload = { task: [...task, ...assigned] }
  for (const { entity, entityId } of events) if (entity !== 'task') (preload[entity] ??= []).push(entityId)
  preload.referencedTasks = tasksIn(events)
  const facts = events.flatMap(
    ({ entity, before }) => (before && definitionOf(entity).factsFor?.(before)) ?? [],
  )
  if (facts.length > 0) preload.facts = facts
  return preload
}

const tasksIn = (events: (Pick<StoredEvent, 'entity' | 'before' | 'after'> | null)[]): string[] =>
  events.flatMap((event) =>
    [event?.before, event?.after].flatMap((row) => (row ? referencedTasks(event!.entity, row) : [])),
  )

async function loadRows(loader: Loader, states: State[], group: QueuedCommand[]): Promise<void> {
  const preload = group.flatMap(({ preload }) => preload ?? [])
  if (preload.length === 0) return
  const loaded = loadAll(loader, states, preload)
  // A task may have many children, so loading them stops at the deadline. A move is the only command of its group.
  await (preload.some(({ movingTaskId }) => movingTaskId)
    ? beforeDeadline(group[0]!.deadline, loaded)
    : loaded)
}

async function loadAll(loader: Loader, states: State[], preload: Preload[]): Promise<State[]> {
  await Promise.all(states.map((state) => loader.rows(state, preload)))
  const movingTaskId = preload.find((one) => one.movingTaskId)?.movingTaskId ?? ''
  for (const [n, state] of states.entries()) {
    const task = state.row('task', movingTaskId)
    if (task?.projectId !== state.projectId) continue
    const { factsFor, factsToLeave } = definitionOf('task')
    await loader.rows(states[1 - n]!, [{ facts: factsFor?.(task) }])
    await loader.rows(state, [{ facts: factsToLeave?.(task) }])
  }
  return states
}

async function findRecords(
  find: FindRecord,
  states: State[],
  group: QueuedCommand[],
): Promise<Map<string, IdempotencyRecord>> {
  const keys = group.flatMap((command): IdempotencyKey[] => {
    const { guard, clientIds = [] } = command
    const claims = clientIds.map(idClaim)
    // The key of a command id has a record only if the command may be committed already.
    const isNew = !guard || (isCommandKey(guard) && !mayBeCommitted(states, command))
    return isNew ? claims : [...claims, guard]
  })
  const records = await Promise.all(keys.map(find))
  return new Map(records.flatMap((answer) => (answer ? [[recordName(answer), answer]] : [])))
}

/** Replies to commands that are already committed, and returns the other commands. */
async function withoutCommitted(
  { findCommitted, loader }: PrepareDependencies,
  states: State[],
  group: QueuedCommand[],
): Promise<QueuedCommand[]> {
  const candidates = group.filter((command) => command.isRecallable && mayBeCommitted(states, command))
  if (candidates.length === 0) return group
  const state = firstEventState(states, candidates[0]!)
  const ids = candidates.map(({ id }) => id)
  const committed = await findCommitted(state.projectId, state.version, ids)
  await loader.rows(state, [{ referencedTasks: tasksIn([...committed.values()]) }])
  return group.filter((command) => {
    const event = committed.get(command.id)
    const answer = event ? command.recall(event, firstEventState(states, command)) : undefined
    if (answer !== undefined) command.resolve(answer)
    const isUnknown = event === null && (command.again === true || command.unknownAt !== undefined)
    if (isUnknown) command.reject(outcomeUnknown())
    return answer === undefined && !isUnknown
  })
}
