import { isAhead, tailOf } from '../ids.ts'
import type { StoredEvent } from '../model/events.ts'
import type { Sql } from '../postgres/database.ts'
import { eventFields, eventRows } from '../postgres/columns.ts'

const pageEvents = 1_000
/** Pages of events that are ahead of the clock. All commands that are under way are among them, or nearly all. */
const mostPagesAhead = 5

/** The first event of each of these commands, if it is in the project's log up to a version; null for not found so far. */
export type FindLanded = (
  projectId: string,
  version: number,
  commandIds: string[],
) => Promise<Map<string, StoredEvent | null>>

/**
 * Searches the log for commands. Ids of events grow with their seq, and all events of a command sort after the command: so
 * the search ends at events that are older than the oldest command. Events of a clock that was ahead are newer than any
 * command: there the search ends after so many.
 */
export function openFindLanded(sql: Sql): FindLanded {
  return async (projectId, version, commandIds) => {
    const oldest = commandIds.reduce((a, b) => (a < b ? a : b))
    const searched = new Map(commandIds.map((id) => [tailOf(id), id]))
    const found = new Map<number, string>()
    let pagesAhead = 0
    for (let upTo = version; upTo > 0; upTo -= pageEvents) {
      const page = await sql<{ seq: number; id: string }[]>`
        select seq::float8 as seq, id from events
        where project_id = ${projectId} and seq > ${upTo - pageEvents} and seq <= ${upTo} order by seq desc`
      for (const { seq, id } of page) {
        const commandId = searched.get(tailOf(id))
        if (commandId) found.set(seq, commandId)
      }
      const earliest = page.at(-1)
      if (found.size === commandIds.length || !earliest || earliest.id < oldest) break
      if (isAhead(earliest.id) && ++pagesAhead === mostPagesAhead) break
    }
    const unknown = pagesAhead === mostPagesAhead ? commandIds.map((id) => [id, null] as const) : []
    if (found.size === 0) return new Map(unknown)
    const rows = await sql<StoredEvent[]>`
      select ${eventFields(sql)}, ${eventRows(sql)} from events e
      where e.project_id = ${projectId} and e.seq = any(${[...found.keys()]}::bigint[])`
    return new Map([...unknown, ...rows.map((event) => [found.get(event.seq)!, event] as const)])
  }
}
