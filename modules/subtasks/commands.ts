import { requireMatch } from '../../src/wire/if-match.ts'
import { atRow, command, ofTask } from '../../src/commands/command.ts'
import { creation, deletion, update } from '../../src/commands/row-commands.ts'
import { updated } from '../../src/model/events.ts'
import { subtask } from './entity.ts'
import { CreateSubtask, SubtaskId, subtaskView, UpdateSubtask } from './schema.ts'

export const createSubtask = creation(subtask, {
  about: 'Not completed at first.',
  input: CreateSubtask,
  at: ofTask('taskId'),
  least: 'EDITOR',
  path: '/tasks/subtasks',
  fields: ({ taskId, title }, { now }) => ({ taskId, title: title.trim(), completed: false, createdAt: now }),
})

export const updateSubtask = update(subtask, {
  about: 'Absent fields stay.',
  input: UpdateSubtask,
  least: 'EDITOR',
  fields: ({ title, completed }) => ({ title: title?.trim(), completed }),
})

export const toggleSubtask = command('subtask.toggle', {
  about: 'Not safe to retry; PATCH the subtask with `completed` is.',
  input: SubtaskId,
  at: atRow('subtask'),
  least: 'EDITOR',
  decide(state, known, { id }) {
    const subtask = state.present('subtask', id)
    requireMatch(known, subtask)
    const change = updated(state, known, 'subtask.toggled', subtask, { completed: !subtask.completed })
    return { changes: [change], answer: change.after }
  },
  shows: subtaskView,
})

export const deleteSubtask = deletion(subtask, { least: 'EDITOR' })
