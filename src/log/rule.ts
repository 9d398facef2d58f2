import type { Caller } from '../identity/rights.ts'
import type { OwedJob } from '../jobs/queue.ts'
import type { Change, StoredEvent } from '../model/events.ts'
import type { ToldPast } from './past.ts'

/** What a rule may know beside the state: who asks, when, and fresh ids. Passed in, so that rules stay pure. */
export interface Context {
  caller: Caller
  now: string
  newId(): string
  /** Of the first fact it is the order's own, so that the order can be found in the log. */
  newEventId(): string
  /** The caller's If-Match header: see precondition.ts. */
  ifMatch?: string
  /** What the command asked of the log. */
  past?: ToldPast
  /** Ids that its client made, and that something else got meanwhile. */
  claimed?: string[]
}

/** What a rule answers: the facts it wants committed (none when nothing changes) and the caller's answer. */
export interface Decision<T> {
  changes: Change[]
  answer: T
  /** They are what many commands decided one after another: the history shows that they belong together. */
  isBatch?: boolean
}

/** What later work a fact asks for: see workers/reactions.ts. Pure. */
export type React = (event: StoredEvent) => Pick<OwedJob, 'name' | 'data'>[]
