import type { Caller } from '../../src/identity/rights.ts'
import type { Services } from '../../src/services.ts'

/** This number of rows counts as one read, as in a page of a list. */
const rowsPerRead = 200
/** This number of reversed events counts as one read, as in other reads with `asOf`. */
const eventsPerRead = 25

export const exportCost = (rows: number, reversedEvents = 0): number =>
  1 + Math.ceil(rows / rowsPerRead + reversedEvents / eventsPerRead)

/** An export that exceeds the remaining budget still runs, and empties it. @throws HttpError 429 for an empty budget */
export async function charge(
  { limits }: Pick<Services, 'limits'>,
  caller: Caller,
  cost: number,
): Promise<void> {
  if (cost > 1) await limits.budgets?.reads.takeMore(caller, cost - 1)
}
