import type { Caller } from '../identity/rights.ts'
import type { OutboxJob } from '../jobs/queue.ts'
import type { EventDraft, StoredEvent } from '../model/events.ts'
import type { UndoContext } from './undo-input.ts'

/** A rule's input beside the state. Time and ids are passed in, so that rules are pure. */
export interface Context {
  caller: Caller
  now: string
  newId(): string
  /** The first event gets the id of its command, so that the command can be found in the log. */
  newEventId(): string
  /** The caller's If-Match header. */
  ifMatch?: string
  undo?: UndoContext
  /** Ids from the client that other rows already use. */
  claimedIds?: string[]
}

/** The events that a rule decides, and the response. Without a change there are no events. */
export interface Decision<T> {
  changes: EventDraft[]
  answer: T
  /** True if several commands decided the events. All events then get the same batch number. */
  isBatch?: boolean
}

/** Returns the jobs to run after an event. Pure. */
export type Reactions = (event: StoredEvent) => Pick<OutboxJob, 'name' | 'data'>[]
