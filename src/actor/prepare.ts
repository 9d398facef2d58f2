import { claimOf, type FindKept, type Guard, type Kept, nameOf } from '../commit/idempotency.ts'
import { type FindLanded, withoutLanded } from './landed.ts'
import type { AskedOfLog, Past, ReadPast } from '../log/past.ts'
import { Refusal, tooLate } from '../wire/refusals.ts'
import { within } from '../within.ts'
import type { Loader } from './load.ts'
import type { Needs } from './needs.ts'
import type { State } from './state.ts'
import type { QueuedCommand } from './queued-command.ts'
import { type Holder, keyToFind, type Prepared } from './warm.ts'

export interface Asks {
  loader: Loader
  findLanded: FindLanded
  findKept: FindKept
  readPast: ReadPast
}

type Rejected = Map<QueuedCommand, Refusal>

/**
 * Asks the database for what the batch needs, and answers the commands in it that stand already. Versions and roles come
 * first: nothing is loaded for a command that those reject.
 */
export async function prepare(asks: Asks, holders: Holder[], batch: QueuedCommand[]): Promise<Prepared> {
  const states: State[] = []
  for (const holder of holders) states.push((holder.state ??= await asks.loader.state(holder.projectId)))
  const rejected = new Map<QueuedCommand, Refusal>()
  const admitted = batch.filter((command) => isAuthorized(states, command, rejected))
  await loadRows(asks.loader, states, admitted)
  const rest = await withoutLanded(asks.findLanded, states, batch)
  const [kept, pasts] = await Promise.all([
    findKept(asks.findKept, states, rest),
    readPasts(asks, states, rest, rejected),
  ])
  return { states, kept, pasts, rejected, batch: rest }
}

function isAuthorized(states: State[], command: QueuedCommand, rejected: Rejected): boolean {
  if (!command.needs) return true
  const stateOf = (id: string) => states.find(({ projectId }) => projectId === id)!
  try {
    command.authorize(stateOf(command.projectId), stateOf(command.otherProjectId ?? command.projectId))
    return true
  } catch (error) {
    return reject(rejected, command, error)
  }
}

/** Notes why a command is rejected: the batch says so once its version has proved current. @throws all but Refusals */
function reject(rejected: Rejected, command: QueuedCommand, error: unknown): false {
  if (!(error instanceof Refusal)) throw error
  rejected.set(command, error)
  return false
}

/** What the log tells, up to the version that is here, with the rows that it is about. */
async function readPasts(
  { readPast, loader }: Asks,
  states: State[],
  batch: QueuedCommand[],
  rejected: Rejected,
) {
  const pasts = new Map<QueuedCommand, Past>()
  const read = async (command: QueuedCommand, asked: AskedOfLog) => {
    const { caller, projectId, deadline } = command
    const state = states.find((one) => one.projectId === projectId)!
    const at = { projectId, version: state.version, caller, role: state.roleOf(caller.userId), deadline }
    const past = await beforeDeadline(deadline, readPast(at, asked))
    await loader.rows(state, [neededBy(past)])
    pasts.set(command, past)
  }
  const all = batch.filter((command) => command.needs?.past && !rejected.has(command))
  await Promise.all(
    all.map((command) =>
      read(command, command.needs!.past!).catch((error) => reject(rejected, command, error)),
    ),
  )
  return pasts
}

/** @throws Refusal 503 when the deadline passes: what is still under way is not waited for */
async function beforeDeadline<T extends object>(deadline: number, work: Promise<T>): Promise<T> {
  const done = await within(deadline - performance.now(), work)
  if (done === undefined) throw tooLate()
  return done
}

/** The rows that events are about, and the tasks that those hang on. */
function neededBy({ events, taken }: Past): Needs {
  const task = events.flatMap(({ taskId }) => taskId ?? [])
  const theirs = [...taken.values()].flat().map(({ entityId }) => entityId)
  const needs: Needs = { task: [...task, ...theirs] }
  for (const { entity, entityId } of events) if (entity !== 'task') (needs[entity] ??= []).push(entityId)
  return needs
}

async function loadRows(loader: Loader, states: State[], batch: QueuedCommand[]): Promise<void> {
  const needs = batch.flatMap(({ needs }) => needs ?? [])
  if (needs.length === 0) return
  const loaded = states.map((state) => loader.rows(state, needs))
  // What leaves with a task may be much: its command comes alone, and stops when its caller gives up.
  const isLarge = needs.some(({ leaving }) => leaving)
  await (isLarge ? beforeDeadline(batch[0]!.deadline, Promise.all(loaded)) : Promise.all(loaded))
}

/** What the batch's Idempotency-Keys were answered before, and which ids of clients are claimed. */
async function findKept(find: FindKept, states: State[], batch: QueuedCommand[]): Promise<Map<string, Kept>> {
  const guards = batch.flatMap((command): Guard[] => {
    const claims = command.ownIds?.map(claimOf) ?? []
    return [...claims, keyToFind(states, command) ?? []].flat()
  })
  const kept = await Promise.all(guards.map(find))
  return new Map(kept.flatMap((answer) => (answer ? [[nameOf(answer), answer] as const] : [])))
}
