import type { SubtaskRow } from '../../drizzle/rows.ts'
import { appeared, differing, removed, updated } from '../../src/model/events.ts'
import { requireMatch } from '../../src/actor/precondition.ts'
import { atRow, command, ofTask } from '../../src/commands/command.ts'
import { idFor } from '../../src/commands/decide.ts'
import { idTaken } from '../../src/wire/refusals.ts'
import { CreateSubtask, SubtaskId, subtaskView, UpdateSubtask } from './schema.ts'

export const createSubtask = command('subtask.create', {
  about: 'Not completed at first.',
  input: CreateSubtask,
  at: ofTask('taskId'),
  least: 'EDITOR',
  takesOwnId: true,
  decide(state, known, { id: own, taskId, title }) {
    const id = idFor(state, known, own)
    const fields = { id, taskId, title: title.trim(), completed: false, createdAt: known.now }
    const change = appeared(state, known, 'subtask.created', fields)
    return { changes: [change], answer: change.after }
  },
  shows: subtaskView,
  status: 201,
  refuses: [idTaken()],
  madeAt: (id) => `/tasks/subtasks/${id}`,
})

export const updateSubtask = command('subtask.update', {
  about: 'Absent fields stay.',
  input: UpdateSubtask,
  at: atRow('subtask'),
  least: 'EDITOR',
  decide(state, known, { id, title, completed }) {
    const subtask = state.present('subtask', id)
    requireMatch(known, subtask)
    const fields = differing<Partial<SubtaskRow>>(subtask, { title: title?.trim(), completed })
    if (!fields) return { changes: [], answer: subtask }
    const change = updated(state, known, 'subtask.updated', subtask, fields)
    return { changes: [change], answer: change.after }
  },
  shows: subtaskView,
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

export const deleteSubtask = command('subtask.delete', {
  input: SubtaskId,
  at: atRow('subtask'),
  least: 'EDITOR',
  decide(state, known, { id }) {
    const subtask = state.present('subtask', id)
    requireMatch(known, subtask)
    return { changes: [removed(state, known, 'subtask.deleted', subtask)], answer: undefined }
  },
  says: 'Subtask deleted successfully',
})

export const subtaskCommands = [createSubtask, updateSubtask, toggleSubtask, deleteSubtask]
