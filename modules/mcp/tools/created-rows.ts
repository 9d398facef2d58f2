export interface Result {
  id: string
  number?: number
}

interface Row extends Result {
  operation: number
}

interface Page {
  /** The ids of the rows that operations name with `as`. */
  ids?: Record<string, string>
  /** The other rows whose ids the caller did not send. */
  rows?: Row[]
  /** The first operation of the next page. */
  next?: string
}

/** An estimate: an id takes up to 26 tokens. */
const tokensPerRow = 40
const maxTokens = 5_500

/** Returns the new ids of a batch from the operation `start` on, and `next` if the answer would be too long. */
export function pageOfRows(operations: object[], results: Result[], start: number): Page {
  const ids = new Map<string, string>()
  const rows: Row[] = []
  let tokens = 0
  let next: string | undefined
  for (let n = start; n < results.length; n++) {
    const { as } = operations[n] as { as?: string }
    const { id, number } = results[n]!
    if (as === undefined && Object.values(operations[n]!).includes(id)) continue
    tokens += tokensPerRow + Buffer.byteLength(as ?? '')
    if (tokens > maxTokens) {
      next = String(n)
      break
    }
    if (as === undefined) rows.push({ operation: n, id, number })
    else ids.set(as, id)
  }
  return {
    ...(ids.size > 0 && { ids: Object.fromEntries(ids) }),
    ...(rows.length > 0 && { rows }),
    ...(next !== undefined && { next }),
  }
}
