import type { Caller } from '../identity/rights.ts'
import type { OutboxJob } from '../jobs/queue.ts'
import type { EventDraft, StoredEvent } from '../model/events.ts'
import type { ToldPast } from './past.ts'

/** What a rule knows beside the state. Time and ids are passed in, so that rules stay pure. */
export interface Context {
  caller: Caller
  now: string
  newId(): string
  /** The first event has the id of its command, so that the command can be found in the log. */
  newEventId(): string
  /** The caller's If-Match header. */
  ifMatch?: string
  past?: ToldPast
  /** Ids that the client made, and that other rows have. */
  claimedIds?: string[]
}

/** The events that a rule wants committed, none when nothing changes, and the caller's answer. */
export interface Decision<T> {
  changes: EventDraft[]
  answer: T
  /** Many commands decided the events: the history shows that these belong together. */
  isBatch?: boolean
}

/** The jobs that an event asks for. Pure. */
export type React = (event: StoredEvent) => Pick<OutboxJob, 'name' | 'data'>[]
