import { comments, members, projects, subtasks, tasks } from './schema.ts'

/** The tables a project's events write, by the name an event gives its entity. */
export const entities = {
  project: projects,
  member: members,
  task: tasks,
  subtask: subtasks,
  comment: comments,
}
export type Entity = keyof typeof entities
export type Rows = { [E in Entity]: (typeof entities)[E]['$inferSelect'] }
