import type { StoredEvent } from '../model/events.ts'
import { isAhead, isMadeAfter, tailOf } from '../ids.ts'
import type { Sql } from '../postgres/database.ts'
import { outcomeUnknown } from '../wire/refusals.ts'
import type { State } from './state.ts'
import type { Posted } from './work.ts'
import { eventFields } from '../postgres/event-fields.ts'

const pageEvents = 1_000
/** Pages of events that are ahead of the clock. All commands that are under way are among them, or nearly all. */
const mostPagesAhead = 5

/** The event that each of these orders began with, if it stands in the project's log up to a version; null for not found so far. */
export type FindLanded = (
  projectId: string,
  version: number,
  orderIds: string[],
) => Promise<Map<string, StoredEvent | null>>

/**
 * Looks for orders in the log. Ids of events grow with their seq, and all that an order brought about sort after the
 * order: so the way back ends where events are older than the oldest order. Where a clock was ahead all events since are newer
 * than any order: there it ends after so many.
 */
export function openFindLanded(sql: Sql): FindLanded {
  return async (projectId, version, orderIds) => {
    const oldest = orderIds.reduce((a, b) => (a < b ? a : b))
    const ordered = new Map(orderIds.map((id) => [tailOf(id), id]))
    const found = new Map<number, string>()
    let pagesAhead = 0
    for (let upTo = version; upTo > 0; upTo -= pageEvents) {
      const page = await sql<{ seq: number; id: string }[]>`
        select seq::float8 as seq, id from events
        where project_id = ${projectId} and seq > ${upTo - pageEvents} and seq <= ${upTo} order by seq desc`
      for (const { seq, id } of page) {
        const orderId = ordered.get(tailOf(id))
        if (orderId) found.set(seq, orderId)
      }
      const earliest = page.at(-1)
      if (found.size === orderIds.length || !earliest || earliest.id < oldest) break
      if (isAhead(earliest.id) && ++pagesAhead === mostPagesAhead) break
    }
    const unknown = pagesAhead === mostPagesAhead ? orderIds.map((id) => [id, null] as const) : []
    if (found.size === 0) return new Map(unknown)
    const rows = await sql<StoredEvent[]>`
      select ${eventFields(sql)}, e.before, e.after from events e
      where e.project_id = ${projectId} and e.seq = any(${[...found.keys()]}::bigint[])`
    return new Map([...unknown, ...rows.map((event) => [found.get(event.seq)!, event] as const)])
  }
}

/** Answers the orders that stand already, and gives the others. As a rule none can, and nothing is asked. */
export async function withoutLanded(find: FindLanded, states: State[], batch: Posted[]): Promise<Posted[]> {
  const suspects = batch.filter(({ work }) => mayStand(states, work))
  if (suspects.length === 0) return batch
  const { projectId, version } = logOf(states, suspects[0]!.work)
  const ids = suspects.map(({ work }) => work.id)
  const landed = await find(projectId, version, ids)
  return batch.filter(({ work, resolve, reject }) => {
    const event = landed.get(work.id)
    const answer = event ? work.recall?.(event) : undefined
    if (answer !== undefined) resolve(answer)
    const isUnknown = event === null && work.again === true
    if (isUnknown) reject(outcomeUnknown())
    return answer === undefined && !isUnknown
  })
}

/**
 * An order that stands is either older than the latest event that was found here, or came of this very state: and then
 * only an order that is given again is decided twice.
 */
export const isSuspect = (states: State[], work: Posted['work']): boolean =>
  work.again === true || mayBeIn(logOf(states, work), work.id)

/** Where a log is ahead of the clock, its ids do not tell: then a command that was made after it was loaded is not in it. */
const mayBeIn = ({ loaded }: State, id: string): boolean =>
  loaded.eventId >= id && !(isMadeAfter(id, loaded.at) && isAhead(loaded.eventId))

/** Of one that keeps its answer, that is looked for: see prepare.ts. */
export const mayStand = (states: State[], work: Posted['work']): boolean =>
  work.recall !== undefined && isSuspect(states, work)

/** The state of the project in which an order's first event is: the one that a task moves to. */
function logOf(states: State[], { projectId, otherProjectId = projectId }: Posted['work']): State {
  if (states.length === 1) return states[0]!
  return states.find((state) => state.projectId === otherProjectId)!
}
