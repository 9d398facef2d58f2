import { comments } from './schema/comments.ts'
import { members } from './schema/members.ts'
import { projects } from './schema/projects.ts'
import { subtasks } from './schema/subtasks.ts'
import { tasks } from './schema/tasks.ts'

/**
 * What a project is made of: the table of each entity, what it hangs on, and whether it is loaded row by row, when a
 * command names it, or with its project.
 */
export const entities = {
  project: { table: projects, parent: null, byRow: false },
  member: { table: members, parent: 'project', byRow: false },
  task: { table: tasks, parent: 'project', byRow: true },
  subtask: { table: subtasks, parent: 'task', byRow: true },
  comment: { table: comments, parent: 'task', byRow: true },
} as const
type Entities = typeof entities
export type Entity = keyof Entities
export type Rows = { [E in Entity]: Entities[E]['table']['$inferSelect'] }
export const entityNames = Object.keys(entities) as Entity[]

/** What is loaded row by row. */
export type Loadable = { [E in Entity]: Entities[E]['byRow'] extends true ? E : never }[Entity]
export const loadable = entityNames.filter((name): name is Loadable => entities[name].byRow)

/** What hangs on a task, and goes where it goes. */
export type ChildOfTask = { [E in Entity]: Entities[E]['parent'] extends 'task' ? E : never }[Entity]
