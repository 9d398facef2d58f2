import { busy, editor, eventOf, owner, projectDeleted, staffed, task } from './given-events.ts'
import { when, type Rule } from './given.ts'

const taskDeleted = eventOf('task.deleted', 'task', task, null)

export function rejectedWithoutTask(add: (taskId: string) => Rule): void {
  when(editor, add('nothing')).thenRejected(404, 'Task not found')
  when(editor, add(task.id), [...busy, taskDeleted]).thenRejected(404, 'Task not found')
  when(owner, add(task.id), [...busy, projectDeleted]).thenRejected(404, 'Task not found')
}

export function rejectedOnceDeleted(rule: Rule, gone: ReturnType<typeof eventOf>, message: string): void {
  when(editor, rule, staffed).thenRejected(404, message)
  for (const what of [gone, taskDeleted]) when(editor, rule, [...busy, what]).thenRejected(404, message)
  when(owner, rule, [...busy, projectDeleted]).thenRejected(404, message)
}
