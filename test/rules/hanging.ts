import { busy, editor, fact, owner, projectGone, staffed, task } from './facts.ts'
import { when, type Rule } from './given.ts'

const taskGone = fact('task.deleted', 'task', task, null)

export function refusedWithoutTask(add: (taskId: string) => Rule): void {
  when(editor, add('nothing')).thenRefused(404, 'Task not found')
  when(editor, add(task.id), [...busy, taskGone]).thenRefused(404, 'Task not found')
  when(owner, add(task.id), [...busy, projectGone]).thenRefused(404, 'Task not found')
}

export function refusedOnceGone(rule: Rule, gone: ReturnType<typeof fact>, message: string): void {
  when(editor, rule, staffed).thenRefused(404, message)
  for (const what of [gone, taskGone]) when(editor, rule, [...busy, what]).thenRefused(404, message)
  when(owner, rule, [...busy, projectGone]).thenRefused(404, message)
}
