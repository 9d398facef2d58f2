import type { ChildOfTask } from '../../drizzle/entities.ts'
import type { Refusal } from '../wire/refusals.ts'
import type { Children } from './children.ts'
import type { StoredEvent } from './facts.ts'

/** Events of its own project that a command asks for: by their seqs, or all of a batch by its number. */
export interface AskedOfLog {
  seqs?: number[]
  batch?: number
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

/** What the log says of the events that a command asks for, and of what came of them. */
export interface Past {
  /** The latest first. */
  events: LoggedEvent[]
  /** What hung on the tasks that were deleted, by the seq of that. */
  children: ReadonlyMap<number, Children>
  /** What hangs on tasks that appeared and did not come back with them, by their ids. */
  hanging: { taskId: string; entity: ChildOfTask; id: string }[]
  /** The seqs of what came back since, and has gone once more: it comes back as it went last. */
  goneAgain: ReadonlySet<number>
  /** The seqs of what took tasks that are in another project now. */
  elsewhere: ReadonlySet<number>
  /** How tasks were taken from members who were removed, by the seq of that. */
  taken: ReadonlyMap<number, LoggedEvent[]>
  /** The accounts that it names, by their ids. */
  people: ReadonlyMap<string, Account>
}

/** Reads what a command asks of its project's log, up to the version it is decided on; or why it cannot. */
export type ReadPast = (
  at: { projectId: string; version: number },
  asked: AskedOfLog,
) => Promise<Past | Refusal>

/** As a rule sees it: with what its own commit holds before it, which no log tells yet. */
export type ToldPast = (Past & { decided: readonly StoredEvent[] }) | Refusal
