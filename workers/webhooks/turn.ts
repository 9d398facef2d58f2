import type { webhooks } from '../../drizzle/schema/webhooks.ts'
import type { DeliveryRow } from '../../modules/webhooks/delivery-rows.ts'
import type { EventType } from '../../src/model/entities.ts'

type Stored = typeof webhooks.$inferSelect

/** A delivery that a worker has begun: no other one does until the lease is over. */
export interface Turn extends Pick<
  Stored,
  'id' | 'projectId' | 'revision' | 'url' | 'maxEvents' | 'secret' | 'formerSecret' | 'cursor' | 'failures'
> {
  types: EventType[] | null
  deliveryId: string
  head: number
  /** Since the first failure in a row. */
  failingMs: number
}

/** How a turn ended. */
export interface Ending {
  turn: Turn
  /** The seq that all is delivered up to, when it went well. */
  upTo?: number
  /** When it did not: when to try again, or why not to. Neither is nobody's fault: it is somebody's next turn. */
  waitMs?: number
  disabled?: string
  /** What is noted of the attempt, if there was one. */
  attempt?: DeliveryRow
}
