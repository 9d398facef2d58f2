import { Room } from '../answers/room.ts'

export interface Result {
  id: string
  number?: number
}

interface Page {
  /** The ids of the rows that operations name with `as`. */
  ids?: Record<string, string>
  /** The other rows whose ids the caller did not send. */
  rows?: (Result & { operation: number })[]
  /** The first operation of the next page. */
  next?: string
}

/** Returns the new ids of a batch from the operation `start` on, and `next` if the answer would be too long. */
export function pageOfRows(operations: object[], results: Result[], start: number): Page {
  const ids = new Map<string, string>()
  const rows: Page['rows'] = []
  const room = new Room({})
  for (let n = start; n < results.length; n++) {
    const { as } = operations[n] as { as?: string }
    const { id, number } = results[n]!
    if (as === undefined && Object.values(operations[n]!).includes(id)) continue
    const row = { operation: n, id, number }
    if (!room.takes(as === undefined ? row : { [as]: id })) return { ...pageOf(ids, rows), next: String(n) }
    if (as === undefined) rows.push(row)
    else ids.set(as, id)
  }
  return pageOf(ids, rows)
}

const pageOf = (ids: Map<string, string>, rows: NonNullable<Page['rows']>): Page => ({
  ...(ids.size > 0 && { ids: Object.fromEntries(ids) }),
  ...(rows.length > 0 && { rows }),
})
