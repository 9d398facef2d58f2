import { isAhead, tailOf } from '../ids.ts'
import type { StoredEvent } from '../model/events.ts'
import type { Sql } from '../postgres/database.ts'
import { eventFields, eventRows } from '../postgres/columns.ts'

const pageEvents = 1_000
/** The maximum number of pages to search while event ids are ahead of the clock: enough to find nearly every retried command. */
const maxPagesAhead = 5

/** Finds the first event of each command in a project's log up to a version; null if the search ended too early. */
export type FindCommitted = (
  projectId: string,
  version: number,
  commandIds: string[],
) => Promise<Map<string, StoredEvent | null>>

/** Reads the newest events first, and stops at an event that is older than all commands. */
export function openFindCommitted(sql: Sql): FindCommitted {
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
      if (isAhead(earliest.id) && ++pagesAhead === maxPagesAhead) break
    }
    const unknown = pagesAhead === maxPagesAhead ? commandIds.map((id) => [id, null] as const) : []
    if (found.size === 0) return new Map(unknown)
    const rows = await sql<StoredEvent[]>`
      select ${eventFields(sql)}, ${eventRows(sql)} from events e
      where e.project_id = ${projectId} and e.seq = any(${[...found.keys()]}::bigint[])`
    return new Map([...unknown, ...rows.map((event) => [found.get(event.seq)!, event] as const)])
  }
}
