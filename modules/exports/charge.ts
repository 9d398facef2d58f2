import type { Caller } from '../../src/identity/rights.ts'
import type { Services } from '../../src/services.ts'

/** As many rows of an export are charged as one read, as in a page of a list. */
const rowsPerRead = 200
/** As many reversed events are charged as one read, as in other reads with `asOf`. */
const eventsPerRead = 25

export const exportCost = (rows: number, reversedEvents = 0): number =>
  1 + Math.ceil(rows / rowsPerRead + reversedEvents / eventsPerRead)

/** A larger export than the budget allows runs too, and empties the budget. @throws HttpError 429 if it is empty */
export async function charge(
  { limits }: Pick<Services, 'limits'>,
  caller: Caller,
  cost: number,
): Promise<void> {
  if (cost > 1) await limits.budgets?.reads.takeMore(caller, cost - 1)
}
