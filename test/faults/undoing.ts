import type { Operation } from './history.ts'

export interface Undo {
  seq?: number
  batch?: number
  seqs?: number[]
}

export const isDry = ({ kind, path }: Pick<Operation, 'kind' | 'path'>): boolean =>
  kind === 'undo' && path.endsWith('?dryRun=true')

/** What takes an event back; nothing for what nothing takes back. */
export const inverseOf: Record<string, string | undefined> = {
  'project.updated': 'project.updated',
  'member.invited': 'member.removed',
  'member.role_set': 'member.role_set',
  'member.removed': 'member.invited',
  'task.created': 'task.deleted',
  'task.updated': 'task.updated',
  'task.deleted': 'task.created',
  'task.unassigned': 'task.updated',
  'subtask.created': 'subtask.deleted',
  'subtask.updated': 'subtask.updated',
  'subtask.toggled': 'subtask.toggled',
  'subtask.deleted': 'subtask.created',
  'comment.created': 'comment.deleted',
  'comment.updated': 'comment.updated',
  'comment.deleted': 'comment.created',
}
