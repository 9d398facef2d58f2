import type { Module } from '../../src/module.ts'
import { childList } from '../../src/routes/child-list.ts'
import { createSubtask, deleteSubtask, toggleSubtask, updateSubtask } from './commands.ts'
import { subtask } from './entity.ts'

export const subtasks = {
  entity: subtask,
  writes: [
    ['post', '/tasks/:id/subtasks', createSubtask, 'Add a subtask'],
    ['patch', '/tasks/subtasks/:id/toggle', toggleSubtask, 'Invert the completed flag'],
    ['patch', '/tasks/subtasks/:id', updateSubtask, 'Change a subtask'],
    ['delete', '/tasks/subtasks/:id', deleteSubtask, 'Delete a subtask'],
  ],
  reads: (services, seeTask) => [
    ['/tasks/:id/subtasks', childList(services, subtask, seeTask), "List a task's subtasks"],
  ],
} satisfies Module
