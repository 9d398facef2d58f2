import type { TaskRow } from '../../drizzle/rows.ts'
import { diff, updated } from '../../src/model/events.ts'
import { requireMatch } from '../../src/responses/if-match.ts'
import { command, inProject, ofTask } from '../../src/commands/command.ts'
import { creation, deletion } from '../../src/commands/row-commands.ts'
import { conflict } from '../../src/responses/errors.ts'
import { task } from './entity.ts'
import { defaults, type Editable, fieldsOf, notAssignable, requireAssignable } from './fields.ts'
import { move, tooManyToMove } from './move.ts'
import { CreateTask, taskView, UnassignTasks, UpdateTask } from './schema.ts'

export const createTask = creation(task, {
  about:
    'The default `status` is TODO, and the default `priority` is MEDIUM. The task gets the next number in its project.',
  input: CreateTask,
  target: inProject(),
  role: 'EDITOR',
  path: '/tasks',
  fields({ id: _, projectId: __, title, ...input }, { now }, state) {
    requireAssignable(state, input.assigneeId)
    return {
      projectId: state.projectId,
      number: state.lastNumber + 1,
      title: title.trim(),
      ...defaults,
      ...fieldsOf(input),
      createdAt: now,
      updatedAt: now,
    }
  },
  errors: [notAssignable()],
})

export const updateTask = command('task.update', {
  about:
    'Absent fields do not change; null clears an optional field. Another `projectId` moves the task with its subtasks and comments to that project, where it gets the next number. A move requires the role EDITOR in both projects. The request gets 409 if the task has too many subtasks and comments to move.',
  input: UpdateTask,
  target: ofTask(),
  role: 'EDITOR',
  destination: ({ projectId }) => projectId,
  decide(state, context, { id, projectId: _, ...input }, target) {
    const task = state.requireRow('task', id)
    const wanted = fieldsOf(input)
    requireMatch(context, task)
    if (target !== state) return move(state, target, context, task, wanted)
    requireAssignable(state, wanted.assigneeId)
    const fields = diff<Partial<Editable>>(task, wanted)
    if (!fields) return { changes: [], answer: task }
    const change = updated(state, context, 'task.updated', task, { ...fields, updatedAt: context.now })
    return { changes: [change], answer: change.after }
  },
  view: taskView,
  errors: [notAssignable(), tooManyToMove()],
})

export const deleteTask = deletion(task, { about: 'Also deletes its subtasks and comments.', role: 'EDITOR' })

/** Unassigns the tasks of a removed member, unless the user is a member again. */
export const unassignTasks = command('task.unassign', {
  input: UnassignTasks,
  target: inProject(),
  role: null,
  preload: ({ ids }) => ({ task: ids }),
  decide(state, context, { ids, userId }) {
    if (!state.project || state.roleOf(userId))
      throw conflict('The user is a member again, or the project is deleted')
    const tasks = ids.map((id) => state.row('task', id))
    const assigned = tasks.filter(
      (task): task is TaskRow => task?.projectId === state.projectId && task.assigneeId === userId,
    )
    const fields = { assigneeId: null, updatedAt: context.now }
    const changes = assigned.map((task) => updated(state, context, 'task.unassigned', task, fields))
    return { changes, answer: undefined }
  },
  message: 'Tasks unassigned',
})
