import type { StoredEvent } from '../model/events.ts'
import { isAhead, tailOf } from '../ids.ts'
import type { Sql } from '../postgres/database.ts'
import { outcomeUnknown } from '../wire/refusals.ts'
import type { State } from './state.ts'
import { eventFields, eventRows } from '../postgres/event-fields.ts'
import type { QueuedCommand } from './queued-command.ts'
import { logOf, mayBeCommitted } from './warm.ts'

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
      select ${eventFields(sql)}, ${eventRows(sql)} from events e
      where e.project_id = ${projectId} and e.seq = any(${[...found.keys()]}::bigint[])`
    return new Map([...unknown, ...rows.map((event) => [found.get(event.seq)!, event] as const)])
  }
}

/** Answers the commands that are already committed, and returns the others. As a rule none can be, and nothing is read. */
export async function withoutLanded(
  find: FindLanded,
  states: State[],
  batch: QueuedCommand[],
): Promise<QueuedCommand[]> {
  const suspects = batch.filter((command) => mayBeCommitted(states, command))
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
