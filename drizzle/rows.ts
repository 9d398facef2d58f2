import type { projects, members, tasks, subtasks, comments, outbox } from './schema.ts'

// A row of each table, as the queries answer it and as events carry it.
export type ProjectRow = typeof projects.$inferSelect
export type MemberRow = typeof members.$inferSelect
export type TaskRow = typeof tasks.$inferSelect
export type SubtaskRow = typeof subtasks.$inferSelect
export type CommentRow = typeof comments.$inferSelect
export type OutboxRow = typeof outbox.$inferSelect
