import type { OutboxJob } from '../jobs/queue.ts'
import type { EventDraft, StoredEvent } from '../model/events.ts'

/** The events that a rule returns, and the response. There are no events if nothing changes. */
export interface Decision<T> {
  changes: EventDraft[]
  answer: T
  /** True if several commands decided the events. All events then get the same batch number. */
  isBatch?: boolean
  /** True if the reply is not stored under an Idempotency-Key, because a repeat may have another result. */
  isProvisional?: boolean
}

/** Returns the jobs to run after an event. Pure. */
export type Reactions = (event: StoredEvent) => Pick<OutboxJob, 'name' | 'data'>[]
