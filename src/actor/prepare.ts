import { claimOf, type FindKept, type Guard, isOwn, type Kept, nameOf } from '../commit/idempotency.ts'
import { type FindLanded, isSuspect, mayStand, withoutLanded } from './landed.ts'
import type { Entity } from '../../drizzle/entities.ts'
import type { Past, ReadPast } from '../facts/past.ts'
import { Refusal } from '../wire/refusals.ts'
import type { Loader } from './load.ts'
import type { Needs, State } from './state.ts'
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
  /** What is still to be decided: not the commands that stand already. */
  batch: Posted[]
}

export interface Asks {
  loader: Loader
  findLanded: FindLanded
  findKept: FindKept
  readPast: ReadPast
}

type Pasts = ReadonlyMap<Posted, Past | Refusal>

const noneKept = new Map<string, Kept>()
const noPasts: Pasts = new Map()

/** What is there already for the batch: undefined when something has to be asked first. */
export function warm(holders: Holder[], batch: Posted[]): Prepared | undefined {
  const states: State[] = []
  for (const { state } of holders) {
    if (!state) return undefined
    states.push(state)
  }
  return batch.every(({ work }) => isReady(states, work))
    ? { states, kept: noneKept, pasts: noPasts, batch }
    : undefined
}

const isReady = (states: State[], work: Posted['work']): boolean =>
  !guardOf(states, work) && !mayStand(states, work) && states.every((state) => state.knowsAll(work.needs))

/** The key under which it may have been answered before: its own, only when it may stand. */
const guardOf = (states: State[], work: Posted['work']): Guard | undefined =>
  work.guard && isOwn(work.guard) && !isSuspect(states, work) ? undefined : work.guard

/** Asks the database for what the batch needs, and answers the commands in it that stand already. */
export async function prepare(asks: Asks, holders: Holder[], batch: Posted[]): Promise<Prepared> {
  const states = await load(asks.loader, holders, batch)
  const rest = await withoutLanded(asks.findLanded, states, batch)
  const [kept, pasts] = await Promise.all([
    findKept(asks.findKept, states, rest),
    readPasts(asks, states, rest),
  ])
  return { states, kept, pasts, batch: rest }
}

/** What the log tells, up to the version that is here, with the rows that it is about. */
async function readPasts({ readPast, loader }: Asks, states: State[], batch: Posted[]): Promise<Pasts> {
  const read = batch.map(async (posted): Promise<[Posted, Past | Refusal][]> => {
    const { projectId, needs } = posted.work
    if (!needs?.past) return []
    const state = states.find((one) => one.projectId === projectId)!
    const past = await readPast(state, needs.past)
    if (!(past instanceof Refusal)) await loader.rows(state, [neededBy(past)])
    return [[posted, past]]
  })
  return new Map((await Promise.all(read)).flat())
}

/** The rows that events are about, and the tasks that those hang on. */
function neededBy({ events, taken }: Past): Needs {
  const all = [...events, ...[...taken.values()].flat()]
  const of = (entity: Entity) => all.flatMap((one) => (one.entity === entity ? [one.entityId] : []))
  const task = all.flatMap(({ taskId }) => taskId ?? [])
  return { task, subtask: of('subtask'), comment: of('comment') }
}

async function load(loader: Loader, holders: Holder[], batch: Posted[]): Promise<State[]> {
  const needs = batch.flatMap(({ work }) => work.needs ?? [])
  const states: State[] = []
  for (const holder of holders) {
    holder.state ??= await loader.state(holder.projectId)
    if (needs.length > 0) await loader.rows(holder.state, needs)
    states.push(holder.state)
  }
  return states
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
