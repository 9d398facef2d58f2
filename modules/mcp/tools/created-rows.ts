import { Budget } from '../answers/budget.ts'

export interface Result {
  id: string
  number?: number
}

interface Page {
  /** The ids of rows by the `as` of their operations. */
  ids?: Record<string, string>
  /** The new rows without `as` and without an id from the caller. */
  rows?: (Result & { operation: number })[]
  /** The index of the next page's first operation. */
  next?: string
}

/** Returns the ids of new rows, from the operation `start` on. `next` is set if not all ids fit into the answer. */
export function pageOfRows(operations: object[], results: Result[], start: number): Page {
  const ids = new Map<string, string>()
  const rows: Page['rows'] = []
  const budget = new Budget({})
  for (let n = start; n < results.length; n++) {
    const { as } = operations[n] as { as?: string }
    const { id, number } = results[n]!
    if (as === undefined && Object.values(operations[n]!).includes(id)) continue
    const row = { operation: n, id, number }
    if (!budget.add(as === undefined ? row : { [as]: id })) return { ...pageOf(ids, rows), next: String(n) }
    if (as === undefined) rows.push(row)
    else ids.set(as, id)
  }
  return pageOf(ids, rows)
}

const pageOf = (ids: Map<string, string>, rows: NonNullable<Page['rows']>): Page => ({
  ...(ids.size > 0 && { ids: Object.fromEntries(ids) }),
  ...(rows.length > 0 && { rows }),
})
