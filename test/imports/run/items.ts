import type { CommentItem, SubtaskItem, TaskItem } from '../../../modules/imports/items.ts'

export const task = (key: string, others: Partial<TaskItem> = {}): TaskItem => ({
  ...{ kind: 'task', row: Number(key), key, title: `Task ${key}` },
  ...others,
})

export const subtask = (of: string, title: string, others: Partial<SubtaskItem> = {}): SubtaskItem => ({
  ...{ kind: 'subtask', row: Number(of), task: of, title, completed: false },
  ...others,
})

export const comment = (of: string, text: string, others: Partial<CommentItem> = {}): CommentItem => ({
  ...{ kind: 'comment', row: Number(of), task: of, text },
  ...others,
})
