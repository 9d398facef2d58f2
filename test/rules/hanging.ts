import { busy, editor, fact, owner, projectGone, staffed, task } from './facts.ts'
import { given, type Rule } from './given.ts'

const taskGone = fact('task.deleted', 'task', task, null)

/** Adds nothing to a task that is not here. */
export function refusedWithoutTask(add: (taskId: string) => Rule): void {
  given(busy).when(editor, add('nothing')).thenRefused(404, 'Task not found')
  given([...busy, taskGone])
    .when(editor, add(task.id))
    .thenRefused(404, 'Task not found')
  given([...busy, projectGone])
    .when(owner, add(task.id))
    .thenRefused(404, 'Task not found')
}

/** Changes nothing of what is gone, alone or with its task or its project. */
export function refusedOnceGone(rule: Rule, gone: ReturnType<typeof fact>, message: string): void {
  given(staffed).when(editor, rule).thenRefused(404, message)
  for (const what of [gone, taskGone])
    given([...busy, what])
      .when(editor, rule)
      .thenRefused(404, message)
  given([...busy, projectGone])
    .when(owner, rule)
    .thenRefused(404, message)
}
