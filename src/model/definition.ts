import type { PgTable } from 'drizzle-orm/pg-core'
import { type Asking, requireRole, requireScope, type Role, scopeOfWrite } from '../identity/rights.ts'
import type { HttpError } from '../responses/errors.ts'
import type { Entities, Entity, Rows } from './entities.ts'
import type { StoredEvent } from './events.ts'
import type { View } from './view.ts'

/** Checks that the caller may undo an event. @throws HttpError 403 */
export type Admit = (asking: Asking, event: StoredEvent) => void

/** The verb of the inverse of an event, with the rights that it takes; or the error that rejects every undo. */
export type Undo<Verb extends string = string> = { by: Verb; admit: Admit } | (() => HttpError)

/** The entity that a field refers to, and its ids after a move to another project: of the rows with the same `by`, or none. */
export interface Reference {
  to: Entity
  onMove: 'drop' | { by: string }
}

/** What a row belongs to: it is deleted, restored and purged with that. */
export type Parent = 'project' | 'task' | 'service_account'

/** The field that holds the parent's id. */
export const parentKeys = { project: 'projectId', task: 'taskId', service_account: 'userId' } as const

/** All that the service must know of an entity: what lists entities is derived from these definitions. */
export interface Definition<E extends Entity = Entity> {
  name: E
  noun: string
  about: string
  /** Its list in an event that carries several of them. */
  plural: string
  table: PgTable
  parent: Parent | null
  /** `on demand`: for each command that asks, because the rows change rarely and hold secrets. */
  load: 'with project' | 'by row' | 'on demand'
  /** A row as events show it. */
  view: View<Rows[E]>
  /** The field with the id of the account whose name the view shows. */
  person?: string & keyof Rows[E]
  events: Record<string, Undo>
  /** The fields that hold ids of rows of other entities of the project: one id, or a list. */
  references?: Record<string, Reference>
  /** The columns that no event holds: secrets, and values that change without an event. */
  untold?: readonly string[]
  /** A worker deletes the row, after the event that says so. */
  isCutLater?: boolean
}

type Complete<E extends Entity> = Definition<E> & {
  events: { [Verb in Entities[E]['event']]: Undo<Entities[E]['event']> }
}
type Named = 'noun' | 'plural'

/** Defines an entity. The noun and the plural follow from its name, unless the definition states them. */
export function entity<E extends Entity>(
  definition: Omit<Complete<E>, Named> & Partial<Pick<Complete<E>, Named>>,
): Complete<E> {
  const { name } = definition
  const noun = (name.charAt(0).toUpperCase() + name.slice(1)).replaceAll('_', ' ')
  return { noun, plural: `${name}s`, ...definition } as Complete<E>
}

const taking =
  (least: Role): Admit =>
  ({ caller, role }) => {
    requireRole(role, least, 'Project')
    requireScope(caller, scopeOfWrite(least))
  }

export const byEditor = taking('EDITOR')
export const byAdmin = taking('ADMIN')

/** Restoring what somebody else deleted takes the role ADMIN: an undo is no way around moderation. */
export const toRestore: Admit = (asking, event) =>
  (event.actorId === asking.caller.userId ? byEditor : byAdmin)(asking, event)

/** The usual three events, which an EDITOR may undo. */
export const plainEvents = {
  created: { by: 'deleted', admit: byEditor },
  updated: { by: 'updated', admit: byEditor },
  deleted: { by: 'created', admit: toRestore },
} as const
