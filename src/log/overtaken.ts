import type { LoggedEvent } from './past.ts'
import { Refusal } from '../wire/refusals.ts'

/** What an event did is no longer so: which later ones changed it, the log says. */
export class Overtaken extends Refusal {
  constructor(
    readonly event: LoggedEvent,
    /** The fields that are others by now; none where it is about all of it. */
    readonly fields: string[],
    /** Seqs that are no obstacle, for they are undone too. */
    readonly undone: number[],
    by: number[] = [],
  ) {
    const what = fields.length > 0 ? fields.join(', ') : event.entity
    const named = by.length > 0 ? ` by seq ${by.join(', ')}` : ''
    super(409, `Seq ${event.seq} cannot be undone: ${what} changed since${named}`)
  }
}
