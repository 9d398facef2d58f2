import { commentView } from '../../modules/comments/schema.ts'
import { memberView } from '../../modules/members/schema.ts'
import { projectView } from '../../modules/projects/schema.ts'
import { subtaskView } from '../../modules/subtasks/schema.ts'
import { taskView } from '../../modules/tasks/schema.ts'
import type { Entity, Rows } from '../../src/model/entities.ts'
import type { Fact, Row } from './evidence.ts'
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
  // Also the task that was there already.
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
  comment: (row) => ({ ...commentView.of(row), authorRemoved: false }),
}

/** An answer without the people it shows, if they are who it says: their names are in no history. */
export function withoutPeople(text: string): string {
  const body: Record<string, { id?: string } | string | null> = JSON.parse(text)
  for (const role of ['owner', 'user', 'author']) {
    const person = body[role]
    if (person && typeof person === 'object' && person.id === body[`${role}Id`]) body[role] = null
  }
  return JSON.stringify(body)
}

/** A row as its readers get it, people apart. */
export const viewOf = (entity: Entity, row: Row): string =>
  JSON.stringify((views[entity as Exclude<Entity, Integration>] as (row: unknown) => object)(row))

/** Where an event is not what this request asked for, in words. */
export function mismatch(operation: Operation, fact: Fact): string | undefined {
  const { kind, callerId, about, body = {}, ifMatch } = operation
  if (fact.undoes != null && kind !== 'member.role') return 'made what an undo did'
  if (!eventTypes[kind]?.includes(fact.type)) return `made a ${fact.type}`
  // Setting a role that is set already changes nothing, and shows what somebody else did.
  if (fact.actorId !== callerId && kind !== 'member.role') return `made what ${fact.actorId} did`
  if (about.id && about.id !== fact.entityId) return `changed ${fact.entity} ${fact.entityId}`
  const { after } = fact
  const differs = Object.keys(body).filter((field) => field !== 'email' && after?.[field] !== body[field])
  if (after && differs.length) return `left other ${differs.join(', ')}: ${JSON.stringify(after)}`
  if (kind === 'subtask.toggle' && after?.completed === fact.before?.completed) return 'did not invert'
  if (ifMatch && fact.before && ifMatch !== `"${fact.before.eventId}"`)
    return `passed over If-Match ${ifMatch}`
  return undefined
}
