import { taskOf } from '../../src/log/rows.ts'
import { batched } from '../../src/postgres/batch.ts'
import { requireKept } from '../../src/reads/kept.ts'
import type { Services } from '../../src/services.ts'
import { ahead, lastEventIdHeader } from './parameters.ts'
import { openPeople } from './people.ts'
import { byRange, type Range, type RangeRow, readRanges } from './rows.ts'
import type { ReadEvent } from './views.ts'

/** Ranges read in one query, at most, and the bytes of each. */
const together = { keys: 20, slots: 2 }
const bytesOfOne = 262_144

/**
 * Reads the next events of projects for many streams in one query. Events that this process has just committed are not
 * read again. Empty if the events were lost with a failed primary.
 * @throws Refusal 400 if another event came before them than was known, 410
 */
export function openNext(means: Pick<Services, 'authenticate' | 'database' | 'oldestKept' | 'recent'>) {
  const { authenticate, database, oldestKept, recent } = means
  const sql = database.reads
  const peopleOf = openPeople(sql, authenticate)
  const read = batched(together, async (ranges: Range[]) => {
    const known = ranges.map((range) => recent.after(range))
    const others = ranges.filter((_, n) => !known[n])
    const rows = others.length > 0 ? byRange(others, await readRanges(sql, others, { bytesOfOne })) : []
    const all = known.map((events) => events ?? rows.shift()!)
    const people = await peopleOf(all.flat())
    return all.map((events) => events.map((event) => ({ taskId: taskOf(event), ...event, people })))
  })
  return async (range: Range): Promise<ReadEvent[]> => {
    const events = await read(range)
    const first = events[0] as Partial<RangeRow> | undefined
    if (first?.previousId && first.previousId !== range.afterId) throw ahead(lastEventIdHeader)
    if (first?.seq !== range.after + 1) await requireKept(oldestKept, range.projectId, range.after)
    return events
  }
}
