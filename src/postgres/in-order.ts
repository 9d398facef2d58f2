/** Puts rows into the order of the ids they were asked for by; undefined where there is none. */
export function inOrder<R>(ids: string[], rows: R[], idOf: (row: R) => string): (R | undefined)[] {
  const byId = new Map(rows.map((row) => [idOf(row), row]))
  return ids.map((id) => byId.get(id))
}

/** Puts rows that carry their key's ordinal (from 1) into the order of the keys. */
export function byOrdinal<R extends { n: number }>(length: number, rows: R[]): (R | undefined)[] {
  const ordered = new Array<R | undefined>(length)
  for (const row of rows) ordered[row.n - 1] = row
  return ordered
}
