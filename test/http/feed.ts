import type { Body, Client } from '../support/client.ts'
import { nextPath } from './list-pages.ts'

export interface FeedEvent {
  seq: number
  id: string
  type: string
  entity: 'project' | 'member' | 'task' | 'subtask' | 'comment'
  entityId: string
  taskId: string | null
  batch: number | null
  actor: { id: string; name: string | null }
  at: string
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
}

export async function readFeed(client: Client, path: string): Promise<FeedEvent[]> {
  const events: FeedEvent[] = []
  for (let next: string | undefined = path; next;) {
    const { status, body, text, headers } = await client.get(next)
    if (status !== 200) throw new Error(`GET ${next} answered ${status} ${text}`)
    events.push(...(body as unknown as FeedEvent[]))
    next = nextPath(headers)
  }
  return events
}

type Thing = Record<string, unknown>
export type Replica = Record<'project' | 'member' | 'task' | 'subtask' | 'comment', Map<string, Thing>>

export const emptyReplica = (): Replica => ({
  project: new Map(),
  member: new Map(),
  task: new Map(),
  subtask: new Map(),
  comment: new Map(),
})

/** What a client makes of an event: of a change it gets the fields that changed. */
export function applyEvent(model: Replica, { entity, entityId, after }: FeedEvent): void {
  const drop = (things: Map<string, Thing>) => {
    for (const [id, { taskId }] of things) if (taskId === entityId) things.delete(id)
  }
  if (!after) {
    model[entity].delete(entityId)
    if (entity === 'task') for (const things of [model.subtask, model.comment]) drop(things)
    return
  }
  const { subtasks = [], comments = [], ...fields } = after as Thing & Record<'subtasks' | 'comments', Body[]>
  model[entity].set(entityId, { ...model[entity].get(entityId), ...fields })
  for (const one of subtasks) model.subtask.set(one.id, one as unknown as Thing)
  for (const one of comments) model.comment.set(one.id, one as unknown as Thing)
}
