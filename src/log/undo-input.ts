import type { ChildOfTask } from '../model/entities.ts'
import type { ProjectCaller } from '../identity/rights.ts'
import type { Children } from './children.ts'
import type { StoredEvent } from '../model/events.ts'
import type { Person } from '../reads/people.ts'

/** The events of the project that an undo takes back: by their seqs, or by the number of a batch. */
export interface UndoSelection {
  seqs?: number[]
  batch?: number
  /** Checks the caller's rights on the events before other data is loaded. @throws HttpError 403, 409 */
  authorize(projectCaller: ProjectCaller, events: LoggedEvent[]): void
}

export type LoggedEvent = StoredEvent & { taskId: string | null }

export interface Unassignment {
  seq: number
  entityId: string
  /** The field that contained the member. */
  name: string
}

/** An event that gave a task another sort key. */
export interface Respacing {
  seq: number
  entityId: string
  from: string
  to: string
}

export interface UndoInput {
  /** Ordered from the latest to the earliest. Without new sort keys: they do not change the order of the tasks. */
  events: LoggedEvent[]
  children: ReadonlyMap<number, Children>
  /** Children that prevent the undo of a task's creation, unless an earlier step of the undo deletes them. */
  remainingChildren: { taskId: string; entity: ChildOfTask; id: string }[]
  deletedAgain: ReadonlySet<number>
  /** The seqs of deletions whose tasks are now in another project. */
  movedAway: ReadonlySet<number>
  /** The events that cleared fields with removed members, the latest first, by the seq of the removal. */
  unassignments: ReadonlyMap<number, Unassignment[]>
  /** In the order of their seqs, from the events that made room for the first placed task of `events`. */
  respacings: readonly Respacing[]
  people: ReadonlyMap<string, Person>
}

export interface UndoCaller extends ProjectCaller {
  projectId: string
  version: number
}

export type ReadUndoInput = (at: UndoCaller, selection: UndoSelection) => Promise<UndoInput>

/** `pendingEvents` were decided in the same group of commands, and are not yet committed. */
export type UndoContext = UndoInput & { pendingEvents: readonly StoredEvent[] }
