import type { TaskRow } from '../../drizzle/rows.ts'
import { nowMs } from '../../src/ids.ts'
import { isLive, noClaim } from '../../src/model/claims.ts'
import type { FindPerson, Person } from '../../src/reads/people.ts'

interface ShownClaims {
  /** Undefined if no row shows a claim. */
  holderOf?(row: TaskRow): Person | undefined
  /** The first instant, in ms, at which a shown claim ends. */
  untilMs?: number
}

const nothing: ShownClaims = {}

/** Removes claims that have ended from the rows, and finds the holders of the others. */
export const showClaims = (findPerson: FindPerson, rows: TaskRow[]): ShownClaims | Promise<ShownClaims> =>
  rows.some(isClaimed)
    ? readClaims(findPerson, rows.filter(isClaimed), new Date(nowMs()).toISOString())
    : nothing

/** Finds the holders of claims at an earlier version, which are shown even if their time is over. */
export const showClaimsAsOf = (
  findPerson: FindPerson,
  rows: TaskRow[],
): ShownClaims | Promise<ShownClaims> =>
  rows.some(isClaimed) ? readClaims(findPerson, rows.filter(isClaimed)) : nothing

async function readClaims(findPerson: FindPerson, rows: TaskRow[], now?: string): Promise<ShownClaims> {
  const live = rows.filter((row) => now === undefined || isLive(row, now))
  for (const row of rows) if (!live.includes(row)) Object.assign(row, noClaim)
  if (live.length === 0) return nothing
  const ids = new Set(live.map(({ claimedBy }) => claimedBy!))
  const found = await Promise.all([...ids].map((key) => findPerson({ by: 'id', key })))
  const people = new Map(found.flatMap((person) => (person ? [[person.id, person]] : [])))
  return {
    holderOf: ({ claimedBy }) => people.get(claimedBy ?? ''),
    untilMs: Math.min(...live.map(({ claimedUntil }) => Date.parse(claimedUntil!))),
  }
}

const isClaimed = ({ claimedBy }: TaskRow): boolean => claimedBy != null
