import type { comments } from './schema/comments.ts'
import type { outbox } from './schema/jobs.ts'
import type { members } from './schema/members.ts'
import type { projects } from './schema/projects.ts'
import type { subtasks } from './schema/subtasks.ts'
import type { tasks } from './schema/tasks.ts'

export type ProjectRow = typeof projects.$inferSelect
export type MemberRow = typeof members.$inferSelect
export type TaskRow = typeof tasks.$inferSelect
export type SubtaskRow = typeof subtasks.$inferSelect
export type CommentRow = typeof comments.$inferSelect
export type OutboxRow = typeof outbox.$inferSelect
