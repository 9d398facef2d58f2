import type { FactType } from '../src/facts/facts.ts'

// Each by its name, so that none is left out: the compiler knows all.
const types: Record<FactType, true> = {
  ...{ 'project.created': true, 'project.updated': true, 'project.deleted': true },
  ...{ 'member.invited': true, 'member.role_set': true, 'member.removed': true },
  ...{ 'task.created': true, 'task.updated': true, 'task.deleted': true },
  ...{ 'task.moved_in': true, 'task.moved_out': true, 'task.unassigned': true },
  ...{ 'subtask.created': true, 'subtask.updated': true, 'subtask.toggled': true, 'subtask.deleted': true },
  ...{ 'comment.created': true, 'comment.updated': true, 'comment.deleted': true },
  ...{ 'webhook.created': true, 'webhook.updated': true, 'webhook.deleted': true },
  ...{ 'service_account.created': true, 'service_account.deleted': true },
  ...{ 'token.created': true, 'token.deleted': true },
}
export const eventTypes = Object.keys(types) as FactType[]
