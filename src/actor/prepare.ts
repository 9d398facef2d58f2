import { type FindKept, type Kept, nameOf } from '../commit/idempotency.ts'
import { type FindLanded, mayStand, withoutLanded } from './landed.ts'
import type { Loader } from './load.ts'
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
  /** What is still to be decided: not the commands that stand already. */
  batch: Posted[]
}

export interface Asks {
  loader: Loader
  findLanded: FindLanded
  findKept: FindKept
}

const noneKept = new Map<string, Kept>()

/** What is there already for the batch: undefined when something has to be asked first. */
export function warm(holders: Holder[], batch: Posted[]): Prepared | undefined {
  const states: State[] = []
  for (const { state } of holders) {
    if (!state) return undefined
    states.push(state)
  }
  return batch.every(({ work }) => isReady(states, work)) ? { states, kept: noneKept, batch } : undefined
}

const isReady = (states: State[], work: Posted['work']): boolean =>
  !work.guard && !mayStand(states, work) && states.every((state) => state.knowsAll(work.needs))

/** Asks the database for what the batch needs, and answers the commands in it that stand already. */
export async function prepare(asks: Asks, holders: Holder[], batch: Posted[]): Promise<Prepared> {
  const states = await load(asks.loader, holders, batch)
  const rest = await withoutLanded(asks.findLanded, states, batch)
  return { states, kept: await findKept(asks.findKept, rest), batch: rest }
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

/** What the batch's Idempotency-Keys were answered before. */
async function findKept(find: FindKept, batch: Posted[]): Promise<Map<string, Kept>> {
  const kept = await Promise.all(batch.flatMap(({ work: { guard } }) => (guard ? [find(guard)] : [])))
  return new Map(kept.flatMap((answer) => (answer ? [[nameOf(answer), answer] as const] : [])))
}
