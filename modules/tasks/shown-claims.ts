import type { TaskRow } from '../../drizzle/rows.ts'
import { nowMs } from '../../src/ids.ts'
import { isLive, noClaim } from '../../src/model/claims.ts'
import type { FindPerson, Person } from '../../src/reads/people.ts'

export type HolderOf = (row: TaskRow) => Person | undefined

/**
 * Finds the holders of claims, and removes claims that have ended from the rows. Returns undefined if no row shows a claim.
 * @param isPast true for rows at an earlier version, which show claims even if their time is over
 */
export async function showClaims(
  findPerson: FindPerson,
  rows: TaskRow[],
  isPast = false,
): Promise<HolderOf | undefined> {
  const claimed = rows.filter(({ claimedBy }) => claimedBy != null)
  if (claimed.length === 0) return undefined
  const now = new Date(nowMs()).toISOString()
  const live = claimed.filter((row) => isPast || isLive(row, now))
  for (const row of claimed) if (!live.includes(row)) Object.assign(row, noClaim)
  if (live.length === 0) return undefined
  const ids = new Set(live.map(({ claimedBy }) => claimedBy!))
  const found = await Promise.all([...ids].map((key) => findPerson({ by: 'id', key })))
  const people = new Map(found.flatMap((person) => (person ? [[person.id, person]] : [])))
  return ({ claimedBy }) => people.get(claimedBy ?? '')
}
