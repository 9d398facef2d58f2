import { claimOf, type FindKept, type Guard, isOwn, type Kept, nameOf } from '../commit/idempotency.ts'
import { type FindLanded, isSuspect, mayStand, withoutLanded } from './landed.ts'
import type { AskedOfLog, Past, ReadPast } from '../log/past.ts'
import { Refusal, tooLate } from '../wire/refusals.ts'
import { within } from '../within.ts'
import type { Loader } from './load.ts'
import type { Needs } from './needs.ts'
import type { State } from './state.ts'
import type { Posted } from './work.ts'

/** What an actor lends to a commit: its project's warm state, which is dropped when it proves stale. */
export interface Holder {
  readonly projectId: string
  state: State | null
}

/** What a batch is decided on: the states, and what its Idempotency-Keys were answered before. */
export interface Prepared {
  states: State[]
  kept: ReadonlyMap<string, Kept>
  /** What the log told those that asked. */
  pasts: Pasts
  /** Why commands are rejected before their rule is asked. */
  rejected: ReadonlyMap<Posted, Refusal>
  /** What is still to be decided: not the commands that stand already. */
  batch: Posted[]
}

export interface Asks {
  loader: Loader
  findLanded: FindLanded
  findKept: FindKept
  readPast: ReadPast
}

type Pasts = ReadonlyMap<Posted, Past>
type Rejected = Map<Posted, Refusal>

const noneKept = new Map<string, Kept>()
const noPasts: Pasts = new Map()
const noneRejected: ReadonlyMap<Posted, Refusal> = new Map()

/** What is there already for the batch: undefined when something has to be asked first. */
export function warm(holders: Holder[], batch: Posted[]): Prepared | undefined {
  const states: State[] = []
  for (const { state } of holders) {
    if (!state) return undefined
    states.push(state)
  }
  return batch.every(({ work }) => isReady(states, work))
    ? { states, kept: noneKept, pasts: noPasts, rejected: noneRejected, batch }
    : undefined
}

const isReady = (states: State[], work: Posted['work']): boolean =>
  !guardOf(states, work) && !mayStand(states, work) && states.every((state) => state.knowsAll(work.needs))

/** The key under which it may have been answered before: its own, only when it may stand. */
const guardOf = (states: State[], work: Posted['work']): Guard | undefined =>
  work.guard && isOwn(work.guard) && !isSuspect(states, work) ? undefined : work.guard

/**
 * Asks the database for what the batch needs, and answers the commands in it that stand already. Versions and roles come
 * first: nothing is loaded for a command that those reject.
 */
export async function prepare(asks: Asks, holders: Holder[], batch: Posted[]): Promise<Prepared> {
  const states: State[] = []
  for (const holder of holders) states.push((holder.state ??= await asks.loader.state(holder.projectId)))
  const rejected = new Map<Posted, Refusal>()
  const admitted = batch.filter((posted) => isAuthorized(states, posted, rejected))
  await loadRows(asks.loader, states, admitted)
  const rest = await withoutLanded(asks.findLanded, states, batch)
  const [kept, pasts] = await Promise.all([
    findKept(asks.findKept, states, rest),
    readPasts(asks, states, rest, rejected),
  ])
  return { states, kept, pasts, rejected, batch: rest }
}

function isAuthorized(states: State[], posted: Posted, rejected: Rejected): boolean {
  const { work } = posted
  const stateOf = (id: string) => states.find(({ projectId }) => projectId === id)!
  try {
    work.authorize?.(stateOf(work.projectId), stateOf(work.otherProjectId ?? work.projectId))
    return true
  } catch (error) {
    return reject(rejected, posted, error)
  }
}

/** Notes why a command is rejected: the batch says so once its version has proved current. @throws all but Refusals */
function reject(rejected: Rejected, posted: Posted, error: unknown): false {
  if (!(error instanceof Refusal)) throw error
  rejected.set(posted, error)
  return false
}

/** What the log tells, up to the version that is here, with the rows that it is about. */
async function readPasts({ readPast, loader }: Asks, states: State[], batch: Posted[], rejected: Rejected) {
  const pasts = new Map<Posted, Past>()
  const read = async (posted: Posted, asked: AskedOfLog) => {
    const { work, deadline } = posted
    const { caller, projectId } = work
    const state = states.find((one) => one.projectId === projectId)!
    const at = { projectId, version: state.version, caller, role: state.roleOf(caller.userId), deadline }
    const past = await beforeDeadline(deadline, readPast(at, asked))
    await loader.rows(state, [neededBy(past)])
    pasts.set(posted, past)
  }
  const all = batch.filter((posted) => posted.work.needs?.past && !rejected.has(posted))
  await Promise.all(
    all.map((posted) =>
      read(posted, posted.work.needs!.past!).catch((error) => reject(rejected, posted, error)),
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

async function loadRows(loader: Loader, states: State[], batch: Posted[]): Promise<void> {
  const needs = batch.flatMap(({ work }) => work.needs ?? [])
  if (needs.length === 0) return
  const loaded = states.map((state) => loader.rows(state, needs))
  // What leaves with a task may be much: its command comes alone, and stops when its caller gives up.
  const isLarge = needs.some(({ leaving }) => leaving)
  await (isLarge ? beforeDeadline(batch[0]!.deadline, Promise.all(loaded)) : Promise.all(loaded))
}

/** What the batch's Idempotency-Keys were answered before, and which ids of clients are claimed. */
async function findKept(find: FindKept, states: State[], batch: Posted[]): Promise<Map<string, Kept>> {
  const guards = batch.flatMap(({ work }): Guard[] => {
    const claims = work.ownIds?.map(claimOf) ?? []
    return [...claims, ...(guardOf(states, work) ? [work.guard!] : [])]
  })
  const kept = await Promise.all(guards.map(find))
  return new Map(kept.flatMap((answer) => (answer ? [[nameOf(answer), answer] as const] : [])))
}
