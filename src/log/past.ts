import type { ChildOfTask } from '../model/entities.ts'
import type { ProjectCaller } from '../identity/rights.ts'
import type { Children } from './children.ts'
import type { StoredEvent } from '../model/events.ts'
import type { Person } from '../reads/people.ts'

/** Events of its own project that a command asks for: by their seqs, or all of a batch by its number. */
export interface AskedOfLog {
  seqs?: number[]
  batch?: number
  /** Checks the caller's rights by the events, before anything else is loaded for them. @throws HttpError 403, 409 */
  authorize(asking: ProjectCaller, events: LoggedEvent[]): void
}

/** An event with the task that it is about, if it is about one. */
export type LoggedEvent = StoredEvent & { taskId: string | null }

export interface Unassigned {
  seq: number
  entityId: string
}

/** The events that a command asks for, and what became of their rows. */
export interface Past {
  /** The latest first. */
  events: LoggedEvent[]
  /** The children of deleted tasks, by the seq of the deletion. */
  children: ReadonlyMap<number, Children>
  /** Children that tasks have when their creation is undone, without those that came back with them. */
  hanging: { taskId: string; entity: ChildOfTask; id: string }[]
  /** The seqs of deletions whose rows were restored and deleted again: they come back as they were last. */
  goneAgain: ReadonlySet<number>
  /** The seqs of deletions of tasks that are in another project now. */
  elsewhere: ReadonlySet<number>
  /** How tasks were taken from removed members, the latest first, by the seq of the removal. */
  taken: ReadonlyMap<number, Unassigned[]>
  people: ReadonlyMap<string, Person>
}

export interface ReadingPast extends ProjectCaller {
  projectId: string
  version: number
}

/** @throws HttpError 403, 404, 409, 410, 503 */
export type ReadPast = (at: ReadingPast, asked: AskedOfLog) => Promise<Past>

export type ToldPast = Past & { decided: readonly StoredEvent[] }
