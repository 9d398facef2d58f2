import type { comments } from './schema/comments.ts'
import type { outbox } from './schema/jobs.ts'
import type { members, projects, labels, taskFields, taskViews } from './schema/projects.ts'
import type { subtasks } from './schema/subtasks.ts'
import type { optionalColumns, tasks } from './schema/tasks.ts'

export type ProjectRow = WithDefaults<typeof projects.$inferSelect, 'textEdits'>
export type MemberRow = typeof members.$inferSelect
export type TaskRow = WithDefaults<typeof tasks.$inferSelect, TaskExtras>
export type LabelRow = typeof labels.$inferSelect
export type FieldRow = typeof taskFields.$inferSelect
export type ViewRow = typeof taskViews.$inferSelect
export type SubtaskRow = typeof subtasks.$inferSelect
export type CommentRow = WithDefaults<typeof comments.$inferSelect, 'importedAuthor'>
export type OutboxRow = typeof outbox.$inferSelect

type TaskExtras = (typeof optionalColumns)[number] | 'dueAfter'

/** A row may leave out these columns. An absent column is null, so that the events of plain tasks stay small. */
type WithDefaults<Row, Names extends keyof Row> = Omit<Row, Names> & Partial<Pick<Row, Names>>
