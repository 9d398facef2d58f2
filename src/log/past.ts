import type { ChildOfTask } from '../model/entities.ts'
import type { Asking } from '../identity/rights.ts'
import type { Children } from './children.ts'
import type { StoredEvent } from '../model/events.ts'

/** Events of its own project that a command asks for: by their seqs, or all of a batch by its number. */
export interface AskedOfLog {
  seqs?: number[]
  batch?: number
  /** Checks the caller's rights by the events, before anything else is loaded for them. @throws Refusal 403, 409 */
  authorize(asking: Asking, events: LoggedEvent[]): void
}

/** An event with the task that it is about, if it is about one. */
export type LoggedEvent = StoredEvent & { taskId: string | null }

/** An account, and the project that it serves, if it is of a program. */
interface Account {
  id: string
  name: string
  email: string
  nameTag: string
  serves?: string | null
}

/** An event that took a task from its assignee. */
export interface Unassigned {
  seq: number
  entityId: string
}

/** What the log says of the events that a command asks for, and of what came of them. */
export interface Past {
  /** The latest first. */
  events: LoggedEvent[]
  /** What hung on the tasks that were deleted, by the seq of that. */
  children: ReadonlyMap<number, Children>
  /** Children that tasks have when their creation is undone, without those that came back with them. */
  hanging: { taskId: string; entity: ChildOfTask; id: string }[]
  /** The seqs of what came back since, and has gone once more: it comes back as it went last. */
  goneAgain: ReadonlySet<number>
  /** The seqs of what took tasks that are in another project now. */
  elsewhere: ReadonlySet<number>
  /** How tasks were taken from members who were removed, the latest first, by the seq of the removal. */
  taken: ReadonlyMap<number, Unassigned[]>
  /** The accounts that it names, by their ids. */
  people: ReadonlyMap<string, Account>
}

/** A project at the version that a command is decided on. */
export interface ReadingPast extends Asking {
  projectId: string
  version: number
}

/**
 * Reads what a command asks of its project's log, up to the version it is decided on.
 * @throws Refusal 403, 404, 409, 410, 503
 */
export type ReadPast = (at: ReadingPast, asked: AskedOfLog) => Promise<Past>

/** As a rule sees it: with what its own commit holds before it, which no log tells yet. */
export type ToldPast = Past & { decided: readonly StoredEvent[] }
