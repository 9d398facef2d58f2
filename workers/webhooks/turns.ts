import { batched } from '../../src/postgres/batch.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { beginTurns, leaseMs } from './begin-turns.ts'
import { endTurns } from './end-turns.ts'
import type { Ending } from './turn.ts'

/** How long an end waits for those before it: nobody but its own webhook waits for it. */
const patienceMs = 10

/** Turns of one worker, many in each statement; `sql` finds each by its index, however many there are. */
export const openTurns = (sql: Sql, workerId: string) => ({
  /** Begins a delivery; undefined where there is nothing to deliver just now, or somebody else does. */
  begin: batched({ keys: 200, slots: 1 }, (ids: string[]) => beginTurns(sql, workerId, ids)),
  /** Ends it; true when there is more. What was changed meanwhile stays: then it was somebody else's turn. */
  end: batched({ keys: 200, slots: 2, patienceMs }, (endings: Ending[]) => endTurns(sql, workerId, endings)),
  /** Keeps the turns that this worker still has, and says which those are. */
  renew: async (ids: string[]): Promise<string[]> => {
    const rows = await sql<{ id: string }[]>`
      update webhooks set lease_until = now() + ${leaseMs}::int4 * interval '1 ms'
      where id = any(${ids}::uuid[]) and lease_by = ${workerId} returning id`
    return rows.map(({ id }) => id)
  },
})
