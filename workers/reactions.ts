import type { StoredEvent, Reactions } from '../src/model/events.ts'
import type { EventType } from '../src/model/entities.ts'

type Reaction = (event: StoredEvent) => { name: JobName; data: Record<string, string> }
export type JobName =
  | 'purge-project'
  | 'purge-task'
  | 'unassign-member'
  | 'close-account'
  | 'send-mail'
  | 'run-import'
  | 'undo-import'

const reactions: Partial<Record<EventType, Reaction>> = {
  'project.deleted': ({ projectId }) => ({ name: 'purge-project', data: { projectId } }),
  'task.deleted': ({ entityId, id }) => ({ name: 'purge-task', data: { taskId: entityId, eventId: id } }),
  'member.removed': (event) => {
    const { userId } = (event as StoredEvent & { before: { userId: string } }).before
    return { name: 'unassign-member', data: { projectId: event.projectId, userId } }
  },
}

export const react: Reactions = (event) => {
  const reaction = reactions[event.type]
  return reaction ? [reaction(event)] : []
}
