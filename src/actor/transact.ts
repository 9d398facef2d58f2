import { setTimeout as sleep } from 'node:timers/promises'
import type { Commit, Outcome } from '../commit/commit.ts'
import type { CommitUnit } from '../commit/unit.ts'
import type { Reactions, StoredEvent } from '../model/events.ts'
import type { Hits } from '../metrics/counts.ts'
import { FactNeeded } from '../model/definition.ts'
import { isTransient } from '../postgres/errors.ts'
import type { Versions } from '../reads/versions.ts'
import {
  Group,
  sendOutcomes,
  type StatefulActor,
  type QueuedCommand,
  rejectLate,
  rejectWith,
} from './decide-group.ts'
import type { State } from './state.ts'
import {
  type FindRecord,
  idClaim,
  type IdempotencyKey,
  isCommandKey,
  recordName,
} from '../commit/idempotency.ts'
import { definitionOf } from '../model/model.ts'
import { referencedTasks } from '../model/references.ts'
import type { UndoInput, ReadUndoInput } from '../log/undo-input.ts'
import { outcomeUnknown, HttpError, writeTimedOut } from '../responses/errors.ts'
import { within } from '../waits.ts'
import type { Loader, Preload } from './load.ts'
import { tailOf } from '../ids.ts'
import type { Sql } from '../postgres/database.ts'
import { eventFields, eventRows } from '../postgres/columns.ts'

export interface TransactDependencies {
  loader: Loader
  findCommitted: ReturnType<typeof openFindCommitted>
  findRecord: FindRecord
  readUndoInput: ReadUndoInput
  versions: Pick<Versions, 'isCurrent'>
  commit: Commit
  react: Reactions
  counts?: Hits
  /** Called after each commit, but not if the process crashes first: correctness must not depend on this call. */
  onCommitted(unit: CommitUnit): void
}

/**
 * Decides and commits commands, repeatedly until the outcome is certain, and then sends the replies. If nothing must be
 * loaded, the commands reach the group commit before this call returns, so that projects of one event-loop iteration
 * share a commit.
 */
export async function transact(
  by: TransactDependencies,
  actors: StatefulActor[],
  commands: QueuedCommand[],
): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    commands = rejectExpired(commands)
    if (commands.length === 0) return
    if (attempt > 0) await backOff(attempt)
    try {
      const group = new Group(
        actors.map(({ state }) => state!),
        commands,
      )
      const warm = group.isWarm()
      if (by.counts) by.counts[warm ? 'hits' : 'misses']++
      if (!warm) {
        await prepare(by, actors, group)
        commands = group.commands = rejectExpired(group.commands)
      }
      const unit = group.decide(by.react)
      const changes = unit.events.length + unit.records.length > 0
      const outcome = await (changes ? by.commit(unit) : verify(by, group.states))
      if (outcome === 'committed') {
        // The children of a moved task may have changed in the other project.
        if (actors.length > 1) dropStates(actors)
        sendOutcomes(commands)
        return changes ? by.onCommitted(unit) : undefined
      }
      dropStates(actors)
      if (outcome === 'unknown') noteUnknown(commands, unit)
      if (outcome instanceof Error) throw outcome
    } catch (error) {
      dropStates(actors)
      if (isTransient(error) || error instanceof FactNeeded) continue
      if (commands.length === 1) return rejectWith(commands[0]!, error)
      // Each command gets a commit of its own, so that only the faulty command fails.
      for (const command of commands) await transact(by, actors, [command])
      return
    }
  }
}

function noteUnknown(commands: QueuedCommand[], { heads }: CommitUnit): void {
  for (const command of commands)
    if (!command.isRejected)
      command.unknownAt = heads.find(({ projectId }) => projectId === command.projectId)!.expected
}

/** A group without changes has no compare-and-swap, so the version is read again: replies must be current. */
async function verify({ versions }: TransactDependencies, states: State[]): Promise<Outcome> {
  const areCurrent = await Promise.all(states.map(versions.isCurrent))
  return areCurrent.every(Boolean) ? 'committed' : 'conflict'
}

function rejectExpired(commands: QueuedCommand[]): QueuedCommand[] {
  const now = performance.now()
  if (commands.every(({ deadline }) => deadline > now)) return commands
  for (const command of commands) if (command.deadline <= now) rejectLate(command)
  return commands.filter(({ deadline }) => deadline > now)
}

const dropStates = (actors: StatefulActor[]) => actors.forEach((actor) => (actor.state = null))

/** Exponential, at most half a second, with jitter: without leases, several processes may retry at the same time. */
const backOff = (attempt: number) => sleep(Math.random() * Math.min(5 * 2 ** attempt, 500))

/** Loads what the commands need, and takes those out of the group that are already committed. */
async function prepare(by: TransactDependencies, actors: StatefulActor[], group: Group): Promise<void> {
  for (const [n, actor] of actors.entries())
    group.states[n] = actor.state ??= await by.loader.state(actor.projectId)
  const authorized = group.commands.filter((command) => isAuthorized(group, command))
  await loadRows(by.loader, group.states, authorized)
  group.commands = await withoutCommitted(by, group)
  const undos = group.commands.map((command) => loadUndoInput(by, group, command))
  await Promise.all([findRecords(by.findRecord, group), ...undos])
}

/** Checks the rights of a command that loads rows again: the check before the queue does not know the members. */
function isAuthorized(group: Group, command: QueuedCommand): boolean {
  command.rejection = command.undo = undefined
  try {
    if (command.preload) command.authorize(group.stateOf(command.projectId), group.firstEventState(command))
  } catch (error) {
    storeRejection(command, error)
  }
  return !command.rejection
}

/** Stores an HttpError, which is sent only after the group's version is verified. @throws every other error */
function storeRejection(command: QueuedCommand, error: unknown): void {
  if (!(error instanceof HttpError)) throw error
  command.rejection = error
}

async function loadUndoInput(by: TransactDependencies, group: Group, command: QueuedCommand): Promise<void> {
  const { caller, projectId, deadline, preload, rejection } = command
  if (rejection || !preload?.undo) return
  const state = group.stateOf(projectId)
  const at = { projectId, version: state.version, caller, role: state.roleOf(caller.userId) }
  try {
    command.undo = await beforeDeadline(deadline, by.readUndoInput(at, preload.undo))
    await by.loader.rows(state, [preloadOfUndo(command.undo)])
  } catch (error) {
    storeRejection(command, error)
  }
}

/** @throws HttpError 503 when the deadline passes. `work` is not cancelled. */
async function beforeDeadline<T>(deadline: number, work: Promise<T>): Promise<T> {
  const done = await within(
    deadline - performance.now(),
    work.then((value) => ({ value })),
  )
  if (!done) throw writeTimedOut()
  return done.value
}

function preloadOfUndo({ events, unassignments }: UndoInput): Preload {
  const task = events.flatMap(({ taskId }) => taskId ?? [])
  const assigned = [...unassignments.values()].flat().map(({ entityId }) => entityId)
  const preload: Preload = { task: [...task, ...assigned] }
  for (const { entity, entityId } of events) if (entity !== 'task') (preload[entity] ??= []).push(entityId)
  preload.referencedTasks = tasksIn(events)
  preload.facts = events.flatMap(
    ({ entity, before }) => (before && definitionOf(entity).factsFor?.(before)) ?? [],
  )
  return preload
}

const tasksIn = (events: (Pick<StoredEvent, 'entity' | 'before' | 'after'> | null | undefined)[]): string[] =>
  events.flatMap((event) =>
    [event?.before, event?.after].flatMap((row) => (row ? referencedTasks(event!.entity, row) : [])),
  )

async function loadRows(loader: Loader, states: State[], commands: QueuedCommand[]): Promise<void> {
  const preloads = commands.flatMap(({ preload }) => preload ?? [])
  if (preloads.length === 0) return
  await Promise.all(states.map((state) => loader.rows(state, preloads)))
  const movingTaskId = preloads.find((one) => one.movingTaskId)?.movingTaskId
  if (movingTaskId === undefined) return
  for (const [n, state] of states.entries()) {
    const task = state.row('task', movingTaskId)
    if (task?.projectId !== state.projectId) continue
    const { factsFor, factsToLeave } = definitionOf('task')
    await loader.rows(states[1 - n]!, [{ facts: factsFor?.(task) }])
    // A task may have many children, so loading them stops at the deadline. A move is the only command of its group.
    await beforeDeadline(commands[0]!.deadline, loader.rows(state, [{ facts: factsToLeave?.(task) }]))
  }
}

async function findRecords(find: FindRecord, group: Group): Promise<void> {
  const keys = group.commands.flatMap((command): IdempotencyKey[] => {
    const { guard, clientIds = [] } = command
    const claims = clientIds.map(idClaim)
    // The key of a command id has a record only if the command may be committed already.
    const isNew = !guard || (isCommandKey(guard) && !group.mayBeCommitted(command))
    return isNew ? claims : [...claims, guard]
  })
  for (const record of await Promise.all(keys.map(find)))
    if (record) group.records.set(recordName(record), record)
}

/** Replies to commands that are already committed, and returns the other commands. */
async function withoutCommitted(by: TransactDependencies, group: Group): Promise<QueuedCommand[]> {
  const candidates = group.commands.filter((one) => one.isRecallable && group.mayBeCommitted(one))
  if (candidates.length === 0) return group.commands
  const state = group.firstEventState(candidates[0]!)
  const ids = candidates.map(({ id }) => id)
  const committed = await by.findCommitted(state.projectId, state.version, ids)
  await by.loader.rows(state, [{ referencedTasks: tasksIn([...committed.values()]) }])
  return group.commands.filter((command) => {
    const event = committed.get(command.id)
    const answer = event ? command.recall(event, group.firstEventState(command)) : undefined
    if (answer !== undefined) command.resolve(answer)
    const isUnknown = event === null && (command.again === true || command.unknownAt !== undefined)
    if (isUnknown) command.reject(outcomeUnknown())
    return answer === undefined && !isUnknown
  })
}

/** The maximum number of events to search: enough for a retried command in a project with the highest rate of writes. */
const maxSearched = 100_000
/** Usually, one of the last events is older. In a young project, Postgres would read and sort all events to find it. */
const searchedFirst = 1_000

type Searched = StoredEvent & { tail: string | null; isCut: boolean }

/**
 * Finds the first event of each command in a project's log up to a version; null if the search ended too early. Searches
 * only events after the last event that is older than all commands, because the ids of a log increase.
 */
export function openFindCommitted(sql: Sql) {
  return async (projectId: string, version: number, commandIds: string[]) => {
    const oldest = commandIds.reduce((a, b) => (a < b ? a : b))
    const end = Math.max(version - maxSearched, 0)
    const olderAfter = (seq: number) => sql`(
      select seq from events where project_id = ${projectId} and seq > ${seq} and seq <= ${version} and id < ${oldest}
      order by seq desc limit 1)`
    const found = await sql<Searched[]>`
      select older.seq is null as is_cut, e.*
      from (select coalesce(${olderAfter(version - searchedFirst)}, ${olderAfter(end)}) as seq) older
      left join lateral (
        select ${eventFields(sql)}, ${eventRows(sql)}, right(e.id::text, ${tailOf(oldest).length}) as tail from events e
        where e.project_id = ${projectId} and e.seq > coalesce(older.seq, ${end}) and e.seq <= ${version}
          and right(e.id::text, ${tailOf(oldest).length}) = any(${commandIds.map(tailOf)}::text[])) e on true`
    const events = new Map(found.map((event) => [event.tail, event]))
    const missing = found[0]!.isCut && end > 0 ? null : undefined
    return new Map<string, StoredEvent | null | undefined>(
      commandIds.map((id) => [id, events.get(tailOf(id)) ?? missing]),
    )
  }
}
