import type { TaskRow } from '../../drizzle/rows.ts'
import { created, diff, updated } from '../../src/model/events.ts'
import { requireMatch } from '../../src/responses/if-match.ts'
import { command, inProject, ofTask } from '../../src/commands/command.ts'
import { newRowId } from '../../src/commands/decide.ts'
import { deletion } from '../../src/commands/row-commands.ts'
import { conflict, idTaken } from '../../src/responses/errors.ts'
import { task } from './entity.ts'
import { blank, type Editable, fieldsOf, notAssignable, requireAssignable } from './fields.ts'
import { move, tooMuchToMove } from './move.ts'
import { CreateTask, taskView, UnassignTasks, UpdateTask } from './schema.ts'

export const createTask = command('task.create', {
  about: 'Its status is TODO and its priority MEDIUM unless told. It takes the next number in its project.',
  input: CreateTask,
  target: inProject(),
  role: 'EDITOR',
  acceptsClientId: true,
  decide(state, known, { id, title, projectId, ...input }) {
    requireAssignable(state, input.assigneeId)
    const change = created(state, known, 'task.created', {
      id: newRowId(state, known, id),
      projectId: state.projectId,
      number: state.lastNumber + 1,
      title: title.trim(),
      ...blank,
      ...fieldsOf(input),
      createdAt: known.now,
      updatedAt: known.now,
    })
    return { changes: [change], answer: change.after }
  },
  view: taskView,
  errors: [notAssignable(), idTaken()],
  status: 201,
  location: (id) => `/tasks/${id}`,
})

export const updateTask = command('task.update', {
  about:
    'Absent fields stay, null clears an optional one. Another projectId moves the task there, where it takes the next number and the role EDITOR as well, with its subtasks and comments; 409 when those are too many.',
  input: UpdateTask,
  target: ofTask(),
  role: 'EDITOR',
  destination: ({ projectId }) => projectId,
  decide(state, known, { id, projectId: _, ...input }, target) {
    const task = state.requireRow('task', id)
    const wanted = fieldsOf(input)
    requireMatch(known, task)
    if (target !== state) return move(state, target, known, task, wanted)
    requireAssignable(state, wanted.assigneeId)
    const fields = diff<Partial<Editable>>(task, wanted)
    if (!fields) return { changes: [], answer: task }
    const change = updated(state, known, 'task.updated', task, { ...fields, updatedAt: known.now })
    return { changes: [change], answer: change.after }
  },
  view: taskView,
  errors: [notAssignable(), tooMuchToMove()],
})

export const deleteTask = deletion(task, { about: 'With its subtasks and comments.', role: 'EDITOR' })

/** After a member went: takes their tasks from them, unless they came back. */
export const unassignTasks = command('task.unassign', {
  input: UnassignTasks,
  target: inProject(),
  role: 'nobody',
  preload: ({ ids }) => ({ task: ids }),
  decide(state, known, { ids, userId }) {
    if (!state.project || state.roleOf(userId)) throw conflict('They are a member again, or all is gone')
    const tasks = ids.map((id) => state.row('task', id))
    const theirs = tasks.filter(
      (task): task is TaskRow => task?.projectId === state.projectId && task.assigneeId === userId,
    )
    const fields = { assigneeId: null, updatedAt: known.now }
    const changes = theirs.map((task) => updated(state, known, 'task.unassigned', task, fields))
    return { changes, answer: undefined }
  },
  message: 'Tasks unassigned',
})
