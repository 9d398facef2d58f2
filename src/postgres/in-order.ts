/** Rows in the order of `ids`; undefined for a missing row. */
export function inOrder<R>(ids: string[], rows: R[], idOf: (row: R) => string): (R | undefined)[] {
  const byId = new Map(rows.map((row) => [idOf(row), row]))
  return ids.map((id) => byId.get(id))
}

/** Rows in the order of their keys: `n` is the ordinal of the key, from 1. */
export function byOrdinal<R extends { n: number }>(length: number, rows: R[]): (R | undefined)[] {
  const ordered = new Array<R | undefined>(length)
  for (const row of rows) ordered[row.n - 1] = row
  return ordered
}
