import { ofTask } from '../../src/commands/command.ts'
import { creation, deletion, update } from '../../src/commands/row-commands.ts'
import { subtask } from './entity.ts'
import { CreateSubtask, SubtaskId, UpdateSubtask } from './schema.ts'

export const createSubtask = creation(subtask, {
  about: 'A new subtask is not completed.',
  input: CreateSubtask,
  target: ofTask('taskId'),
  role: 'EDITOR',
  path: '/tasks/subtasks',
  fields: ({ taskId, title }, { now }) => ({ taskId, title: title.trim(), completed: false, createdAt: now }),
})

export const updateSubtask = update(subtask, {
  about: 'Absent fields do not change.',
  input: UpdateSubtask,
  role: 'EDITOR',
  fields: ({ title, completed }) => ({ title: title?.trim(), completed }),
})

export const toggleSubtask = update(subtask, {
  verbs: ['toggle', 'toggled'],
  about: 'A repeated request inverts the flag again. To set a value, PATCH the subtask with `completed`.',
  input: SubtaskId,
  role: 'EDITOR',
  fields: (_, __, { completed }) => ({ completed: !completed }),
})

export const deleteSubtask = deletion(subtask, { role: 'EDITOR' })
