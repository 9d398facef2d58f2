import { commentView } from '../../modules/comments/schema.ts'
import { fieldView } from '../../modules/fields/schema.ts'
import { labelView } from '../../modules/labels/schema.ts'
import { memberView } from '../../modules/members/schema.ts'
import { projectView } from '../../modules/projects/schema.ts'
import { subtaskView } from '../../modules/subtasks/schema.ts'
import { savedView } from '../../modules/views/schema.ts'
import { taskView } from '../../modules/tasks/schema.ts'
import type { Entity, Rows } from '../../src/model/entities.ts'
import type { LogEvent, Row } from './evidence.ts'
import type { Operation } from './history.ts'

export const eventTypes: Record<string, string[]> = {
  'project.create': ['project.created'],
  'project.patch': ['project.updated'],
  'project.delete': ['project.deleted'],
  'member.invite': ['member.invited'],
  'member.role': ['member.role_set', 'member.invited'],
  'member.remove': ['member.removed'],
  'task.create': ['task.created'],
  'task.patch': ['task.updated'],
  // A move to the task's own project only updates the task.
  'task.move': ['task.moved_in', 'task.updated'],
  'task.delete': ['task.deleted'],
  'subtask.add': ['subtask.created'],
  'subtask.toggle': ['subtask.toggled'],
  'subtask.patch': ['subtask.updated'],
  'subtask.delete': ['subtask.deleted'],
  'comment.add': ['comment.created'],
  'comment.edit': ['comment.updated'],
  'comment.delete': ['comment.deleted'],
}

type Integration = 'webhook' | 'service_account' | 'token'
const views: { [E in Exclude<Entity, Integration>]: (row: Rows[E]) => object } = {
  project: (row) => projectView.of(row),
  member: (row) => memberView.of(row),
  task: (row) => taskView.of(row),
  subtask: (row) => subtaskView.of(row),
  field: (row) => fieldView.of(row),
  view: (row) => savedView.of(row),
  label: (row) => labelView.of(row),
  comment: (row) => ({ ...commentView.of(row), authorRemoved: false }),
}

/** Removes user objects with the right ids from a response, because the log has no names. */
export function withoutPeople(text: string): string {
  const body: Record<string, { id?: string } | string | null> = JSON.parse(text)
  for (const role of ['owner', 'user', 'author']) {
    const person = body[role]
    if (person && typeof person === 'object' && person.id === body[`${role}Id`]) body[role] = null
  }
  return JSON.stringify(body)
}

/** Returns a row as JSON of the API, without user objects. */
export const viewOf = (entity: Entity, row: Row): string =>
  JSON.stringify((views[entity as Exclude<Entity, Integration>] as (row: unknown) => object)(row))

export function mismatch(operation: Operation, event: LogEvent): string | undefined {
  const { kind, callerId, about, body = {}, ifMatch } = operation
  if (event.undoes != null && kind !== 'member.role') return 'has an event that an undo wrote'
  if (!eventTypes[kind]?.includes(event.type)) return `wrote an event of type ${event.type}`
  if (event.actorId !== callerId && kind !== 'member.role')
    return `has an event with the actor ${event.actorId}`
  if (about.id && about.id !== event.entityId) return `changed ${event.entity} ${event.entityId}`
  const { after } = event
  const differs = Object.keys(body).filter((field) => field !== 'email' && after?.[field] !== body[field])
  if (after && differs.length) return `wrote a different ${differs.join(', ')}: ${JSON.stringify(after)}`
  if (kind === 'subtask.toggle' && after?.completed === event.before?.completed) return 'did not toggle'
  if (ifMatch && event.before && ifMatch !== `"${event.before.eventId}"`) return `ignored If-Match ${ifMatch}`
  return undefined
}
