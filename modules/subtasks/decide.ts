import type { SubtaskRow } from '../../drizzle/rows.ts'
import { appeared, type Context, type Decision, differing, removed, updated } from '../../src/actor/events.ts'
import { requireMatch } from '../../src/actor/precondition.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { notFound } from '../../src/core/errors.ts'
import { taskFor } from '../tasks/decide.ts'

export type SubtaskChanges = Partial<Pick<SubtaskRow, 'title' | 'completed'>>

/** Names a subtask and the task it hangs on. */
export interface SubtaskRef {
  id: string
  taskId: string
}

function subtaskFor(state: ProjectState, context: Context, { id, taskId }: SubtaskRef): SubtaskRow {
  taskFor(state, context, taskId, 'VIEWER', 'Subtask')
  const subtask = state.row('subtask', id)
  if (!subtask) throw notFound('Subtask')
  taskFor(state, context, taskId, 'EDITOR', 'Subtask')
  requireMatch(context, subtask)
  return subtask
}

export function addSubtask(
  state: ProjectState,
  context: Context,
  taskId: string,
  title: string,
): Decision<SubtaskRow> {
  taskFor(state, context, taskId, 'EDITOR')
  const fields = { id: context.newId(), taskId, title, completed: false, createdAt: context.now }
  const change = appeared(state, context, 'subtask.added', 'subtask', fields)
  return { changes: [change], answer: change.after }
}

export function toggleSubtask(state: ProjectState, context: Context, ref: SubtaskRef): Decision<SubtaskRow> {
  const subtask = subtaskFor(state, context, ref)
  const fields = { completed: !subtask.completed }
  const change = updated(state, context, 'subtask.toggled', 'subtask', subtask, fields)
  return { changes: [change], answer: change.after }
}

export function updateSubtask(
  state: ProjectState,
  context: Context,
  ref: SubtaskRef,
  wanted: SubtaskChanges,
): Decision<SubtaskRow> {
  const subtask = subtaskFor(state, context, ref)
  const fields = differing<SubtaskChanges>(subtask, wanted)
  if (!fields) return { changes: [], answer: subtask }
  const change = updated(state, context, 'subtask.updated', 'subtask', subtask, fields)
  return { changes: [change], answer: change.after }
}

export function deleteSubtask(state: ProjectState, context: Context, ref: SubtaskRef): Decision<void> {
  const subtask = subtaskFor(state, context, ref)
  return { changes: [removed(state, context, 'subtask.deleted', 'subtask', subtask)], answer: undefined }
}
