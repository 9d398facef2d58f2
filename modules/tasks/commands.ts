import type { TaskRow } from '../../drizzle/rows.ts'
import { appeared, differing, removed, updated } from '../../src/facts/facts.ts'
import { requireMatch } from '../../src/actor/precondition.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { command, inProject, type Known, ofTask } from '../../src/commands/command.ts'
import { requireRole } from '../../src/identity/roles.ts'
import { badRequest, conflict } from '../../src/wire/refusals.ts'
import { optionalText, parseInstant } from '../../src/schema/text.ts'
import { CreateTask, TaskId, type TaskInput, taskView, UnassignTasks, UpdateTask } from './schema.ts'

declare module '../../src/facts/facts.ts' {
  interface Facts {
    'task.created': true
    'task.updated': true
    'task.deleted': true
    'task.moved_in': true
    'task.moved_out': true
    'task.unassigned': true
  }
}

const notAssignable = () => badRequest('assigneeId must be the owner or a member of the project')

type Editable = Omit<TaskRow, 'id' | 'projectId' | 'number' | 'createdAt' | 'updatedAt' | 'eventId'>

/** What a new task is where nothing is said. */
const blank: Omit<Editable, 'title'> = {
  description: null,
  status: 'TODO',
  priority: 'MEDIUM',
  dueDate: null,
  assigneeId: null,
}

export const createTask = command('task.create', {
  about: 'Its status is TODO and its priority MEDIUM unless told. It takes the next number in its project.',
  input: CreateTask,
  at: inProject(),
  least: 'EDITOR',
  decide(state, known, { title, projectId, ...input }) {
    requireAssignable(state, input.assigneeId)
    const change = appeared(state, known, 'task.created', {
      id: known.newId(),
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
  shows: taskView,
  refuses: [notAssignable()],
  status: 201,
  madeAt: (id) => `/tasks/${id}`,
})

export const updateTask = command('task.update', {
  about:
    'Absent fields stay, null clears an optional one. Another projectId moves the task there, where it takes the next number and the role EDITOR as well.',
  input: UpdateTask,
  at: ofTask(),
  least: 'EDITOR',
  into: ({ projectId }) => projectId,
  decide(state, known, { id, projectId: _, ...input }, target) {
    const task = state.present('task', id)
    const wanted = fieldsOf(input)
    requireMatch(known, task)
    if (target !== state) return move(state, target, known, task, wanted)
    requireAssignable(state, wanted.assigneeId)
    const fields = differing<Partial<Editable>>(task, wanted)
    if (!fields) return { changes: [], answer: task }
    const change = updated(state, known, 'task.updated', task, { ...fields, updatedAt: known.now })
    return { changes: [change], answer: change.after }
  },
  shows: taskView,
  refuses: [notAssignable()],
})

/**
 * Takes the task out of one project and into another, with the wanted changes: one fact in each. It gets the next
 * number there, and loses an assignee who is not in the new project.
 */
function move(
  source: ProjectState,
  target: ProjectState,
  known: Known,
  task: TaskRow,
  wanted: Partial<Editable>,
) {
  requireRole(target.roleOf(known.caller.userId), 'EDITOR', 'Project')
  requireAssignable(target, wanted.assigneeId)
  const { eventId: _, ...kept } = task
  const { projectId, lastNumber } = target
  const moved = { ...kept, ...wanted, projectId, number: lastNumber + 1, updatedAt: known.now }
  if (moved.assigneeId && !target.roleOf(moved.assigneeId)) moved.assigneeId = null
  // The order is to be known by the arrival, which has the row that it answers: see landed.ts.
  const departure = removed(source, { ...known, newEventId: known.newId }, 'task.moved_out', task)
  const arrival = appeared(target, known, 'task.moved_in', moved)
  return { changes: [departure, arrival], answer: arrival.after }
}

export const deleteTask = command('task.delete', {
  about: 'With its subtasks and comments.',
  input: TaskId,
  at: ofTask(),
  least: 'EDITOR',
  decide(state, known, { id }) {
    const task = state.present('task', id)
    requireMatch(known, task)
    return { changes: [removed(state, known, 'task.deleted', task)], answer: undefined }
  },
  says: 'Task deleted successfully',
})

/** After a member went: takes their tasks from them, unless they came back. */
export const unassignTasks = command('task.unassign', {
  input: UnassignTasks,
  at: inProject(),
  least: 'nobody',
  needs: ({ ids }) => ({ task: ids }),
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
  says: 'Tasks unassigned',
})

export const taskCommands = [createTask, updateTask, deleteTask, unassignTasks]

/** The fields of an input as they are stored; what is absent stays so. */
function fieldsOf(input: Partial<Omit<TaskInput, 'projectId'>>): Partial<Editable> {
  const fields: Partial<Editable> = { ...input }
  for (const key of Object.keys(fields) as (keyof Editable)[])
    if (fields[key] === undefined) delete fields[key]
  if (fields.title !== undefined) fields.title = fields.title.trim()
  if (fields.description !== undefined) fields.description = optionalText(fields.description)
  if (fields.dueDate) fields.dueDate = parseInstant(fields.dueDate)
  return fields
}

function requireAssignable(state: ProjectState, userId: string | null | undefined): void {
  if (typeof userId === 'string' && !state.roleOf(userId)) throw notAssignable()
}
