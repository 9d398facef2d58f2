import type { Answer, Body, Client } from '../support/client.ts'
import { allPages } from './list-pages.ts'

type Entity = 'project' | 'member' | 'task' | 'subtask' | 'comment'
type Row = Record<string, unknown>

export interface FeedEvent {
  seq: number
  id: string
  type: string
  entity: Entity
  entityId: string
  taskId: string | null
  batch: number | null
  actor: { id: string; name: string | null }
  at: string
  before: Row | null
  after: Row | null
}

export const readFeed = async (client: Client, path: string) =>
  (await allPages(client, path)).flat() as unknown as FeedEvent[]

export interface EventsPage {
  events: (FeedEvent & { projectId: string })[]
  after: Record<string, number>
  gone: string[]
}

/** Returns the body of a response of `POST /events/read`, whose status must be 200. */
export const expectEvents = ({ status, body, text }: Answer): EventsPage => {
  expect([status, status === 200 ? '' : text]).toEqual([200, ''])
  return body as unknown as EventsPage
}

/** The rows of a project that a client builds from events, by entity and id. */
export type Replica = Record<Entity, Map<string, Row>>

export const emptyReplica = (): Replica => ({
  ...{ project: new Map(), member: new Map(), task: new Map() },
  ...{ subtask: new Map(), comment: new Map() },
})

/** Applies an event to a replica. In an update, `after` contains only the changed fields. */
export function applyEvent(replica: Replica, { entity, entityId, after }: FeedEvent): void {
  const { subtask, comment } = replica
  if (!after) {
    replica[entity].delete(entityId)
    for (const children of [subtask, comment])
      for (const [id, { taskId }] of children) if (taskId === entityId) children.delete(id)
    return
  }
  const { subtasks = [], comments = [], ...fields } = after as Row & Record<'subtasks' | 'comments', Body[]>
  replica[entity].set(entityId, { ...replica[entity].get(entityId), ...fields })
  for (const one of subtasks) subtask.set(one.id, one as unknown as Row)
  for (const one of comments) comment.set(one.id, one as unknown as Row)
}
