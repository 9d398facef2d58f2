import { apiTokens, users } from './schema/accounts.ts'
import { comments } from './schema/comments.ts'
import { members } from './schema/members.ts'
import { projects } from './schema/projects.ts'
import { subtasks } from './schema/subtasks.ts'
import { tasks } from './schema/tasks.ts'
import { webhooks } from './schema/webhooks.ts'
import type { Integration, untold } from './untold.ts'

/**
 * What a project is made of: the table of each entity, what it hangs on, and whether it is loaded row by row, when a
 * command names it, or with its project.
 */
const contents = {
  project: { table: projects, parent: null, byRow: false },
  member: { table: members, parent: 'project', byRow: false },
  task: { table: tasks, parent: 'project', byRow: true },
  subtask: { table: subtasks, parent: 'task', byRow: true },
  comment: { table: comments, parent: 'task', byRow: true },
} as const

const integrations = {
  webhook: { table: webhooks, parent: 'project', byRow: false },
  service_account: { table: users, parent: 'project', byRow: false },
  token: { table: apiTokens, parent: 'project', byRow: false },
} as const satisfies Record<Integration, object>

export const entities = { ...contents, ...integrations }
type Contents = typeof contents
export type Entity = keyof Contents | Integration

/** A row of an integration as its table has it. */
export type IntegrationRows = { [E in Integration]: (typeof integrations)[E]['table']['$inferSelect'] }
type Told<E extends Integration> = Omit<IntegrationRows[E], (typeof untold)[E][number] | 'eventId'>
/** Rows as events hold them. */
export type Rows = { [E in keyof Contents]: Contents[E]['table']['$inferSelect'] } & {
  [E in Integration]: Told<E> & { eventId: string }
}
export const entityNames = Object.keys(entities) as Entity[]

/** What is loaded row by row. */
export type Loadable = {
  [E in keyof Contents]: Contents[E]['byRow'] extends true ? E : never
}[keyof Contents]
export const loadable = entityNames.filter((name): name is Loadable => entities[name].byRow)

/** What hangs on a task, and goes where it goes. */
export type ChildOfTask = {
  [E in keyof Contents]: Contents[E]['parent'] extends 'task' ? E : never
}[keyof Contents]
