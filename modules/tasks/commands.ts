import type { TaskRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { command, inProject, ofTask, type RuleContext } from '../../src/commands/command.ts'
import { newRowId, tooManyRows, responseRow } from '../../src/commands/decide.ts'
import { deletion } from '../../src/commands/row-commands.ts'
import { type Decision, created, type EventDraft, updated, diff } from '../../src/model/events.ts'
import { failedClaim, isLive, noClaim } from '../../src/model/claims.ts'
import { editReferences } from '../../src/model/references.ts'
import { invalid, conflict, idTaken } from '../../src/responses/errors.ts'
import {
  preconditionFailed,
  requireMatch,
  textUnmatched,
  namesVersion,
} from '../../src/responses/if-match.ts'
import { label } from '../labels/entity.ts'
import { place, placeErrors, placeOfMovedTask, precededBy, requireNoSpot } from '../order/place.ts'
import {
  blockerErrors,
  tooManyBlockers,
  tooManyDependents,
  externalIds,
  externalIdTaken,
} from './blockers.ts'
import { task } from './entity.ts'
import {
  rowFieldsOf,
  newTask,
  notAssignable,
  type Editable,
  requireAssignable,
  remindAtPassed,
  timesOf,
} from './fields.ts'
import { move, tooManyToMove } from './move.ts'
import {
  CreateTask,
  taskView,
  UnassignTasks,
  UpdateTask,
  UpsertTask,
  RecordTimes,
  userFields,
  AppendToTask,
  maxDescription,
  type TaskChange,
} from './schema.ts'
import { hasLength } from '../../src/schema/input.ts'

export const createTask = command('task.create', {
  about:
    'The default `status` is TODO, and the default `priority` is MEDIUM. The task gets the next number in its project. Without `before`, `after` and `place`, it is the last task in the order of the project.',
  input: CreateTask,
  target: inProject(),
  role: 'EDITOR',
  acceptsClientId: true,
  decide(state, context, input) {
    const id = newRowId(state, context, input.id)
    const placed = place(state, context, input)
    const row = newTask(state, context, id, input)
    const change = created(state, context, 'task.created', placed ? { ...row, ...placed.fields } : row)
    const decision = { changes: [change], answer: change.after }
    return placed ? precededBy(placed.changes, decision) : decision
  },
  view: taskView,
  status: 201,
  location: (id) => `/tasks/${id}`,
  errors: [
    ...[idTaken(), notAssignable(), remindAtPassed(), externalIdTaken(42), tooManyBlockers()],
    ...placeErrors(),
  ],
})

export const updateTask = command('task.update', {
  about:
    'Absent fields do not change; null clears an optional field. `before`, `after` or `place` places the task in the order of its project; other fields, such as `status`, can change in the same request. Another `projectId` moves the task with its subtasks and comments to that project, where it gets the next number and the labels of the same names; missing labels are created. The move drops `blockedByIds`, and removes the task from the `blockedByIds` of other tasks. It requires the role EDITOR in both projects. The request gets 409 if the task has too many subtasks and comments to move.',
  input: UpdateTask,
  target: ofTask(),
  role: 'EDITOR',
  destination: ({ projectId }) => projectId,
  decide(state, context, { id, projectId: _, ...input }, target) {
    const task = state.requireRow('task', id)
    requireMatch(context, task)
    requireTextMatch(state, context, task, input)
    if (target !== state) {
      requireNoSpot(input)
      return move(state, target, context, task, input)
    }
    const wanted = rowFieldsOf(editReferences(state, 'task', task, input), state, task.fields)
    const placed = place(state, context, input, task)
    const decision = changeTask(state, context, task, { ...wanted, ...placed?.fields })
    return placed ? precededBy(placed.changes, decision) : decision
  },
  view: taskView,
  errors: [
    ...[
      notAssignable(),
      remindAtPassed(),
      tooManyToMove(),
      tooManyDependents(),
      externalIdTaken(42),
      tooManyRows(label),
    ],
    ...[...blockerErrors(), ...placeErrors(), placeOfMovedTask(), textUnmatched()],
  ],
})

const titleMissing = () => invalid('title', 'is required, because no task has this externalId')

export const upsertTask = command('task.upsert', {
  about:
    'Creates the task with this `externalId`, or changes the fields that the body contains. A repeated request changes nothing and writes no event, so a client can mirror another system by sending every task again. The path contains the external id percent-encoded; the ids `.` and `..` can be sent only in a batch.',
  input: UpsertTask,
  target: inProject(),
  role: 'EDITOR',
  creates: true,
  decide(state, context, { projectId: _, ...input }) {
    const holder = state.fact(externalIds).get(input.externalId.trim())
    if (holder) {
      const task = state.requireRow('task', holder.id)
      requireMatch(context, task)
      requireTextMatch(state, context, task, input)
      return changeTask(state, context, task, rowFieldsOf(input, state, task.fields))
    }
    const { title } = input
    if (title === undefined) throw titleMissing()
    if (context.ifMatch !== undefined) throw preconditionFailed()
    const row = newTask(state, context, context.newId(), { ...input, title })
    const change = created(state, context, 'task.created', row)
    return { changes: [change], answer: change.after }
  },
  view: taskView,
  location: (id) => `/tasks/${id}`,
  errors: [notAssignable(), remindAtPassed(), titleMissing(), ...blockerErrors(), textUnmatched()],
})

export const deleteTask = deletion(task, { about: 'Also deletes its subtasks and comments.', role: 'EDITOR' })

const presentTasks = (state: ProjectState, ids: string[]): TaskRow[] =>
  ids.flatMap((id) => {
    const task = state.row('task', id)
    return task?.projectId === state.projectId ? task : []
  })

/** Unassigns the tasks of a removed member and ends the member's claims, unless the user is a member again. */
export const unassignTasks = command('task.unassign', {
  input: UnassignTasks,
  target: inProject(),
  role: null,
  preload: ({ ids }) => ({ task: ids }),
  decide(state, context, { ids, userId }) {
    if (!state.project || state.roleOf(userId))
      throw conflict('The user is a member again, or the project is deleted')
    const changes = presentTasks(state, ids).flatMap((task) => withoutUser(state, context, task, userId))
    return { changes, answer: undefined }
  },
  message: 'Tasks unassigned',
})

/** Two events, because an undo of the removal restores the assignee and other users, but not the claim. */
function withoutUser(state: ProjectState, context: RuleContext, task: TaskRow, userId: string): EventDraft[] {
  const { now: updatedAt } = context
  const changes: EventDraft<'task'>[] = []
  const names = userFields.filter((name) => task[name as 'assigneeId'] === userId)
  if (names.length > 0) {
    const fields = Object.fromEntries(names.map((name) => [name, null]))
    changes.push(updated(state, context, 'task.unassigned', task, { ...fields, updatedAt }))
  }
  if (task.claimedBy === userId) {
    const type = isLive(task, updatedAt) ? 'task.released' : 'task.claim_expired'
    changes.push(updated(state, context, type, changes[0]?.after ?? task, { ...noClaim, updatedAt }))
  }
  return changes
}

/** Changes a task within its project. Without a changed value there is no event. @throws HttpError 400 */
function changeTask(
  state: ProjectState,
  context: RuleContext,
  task: TaskRow,
  wanted: Partial<Editable>,
): Decision<TaskRow> {
  requireAssignable(state, wanted)
  const fields = diff<Partial<Editable>>(task, wanted)
  if (!fields) return { changes: [], answer: task }
  const ended = fields.status === 'DONE' && task.claimedBy ? noClaim : undefined
  const times = timesOf(fields, context.now, task)
  const changed = { ...fields, ...ended, ...times, updatedAt: context.now }
  const change = updated(state, context, 'task.updated', task, changed)
  return { changes: [change], answer: change.after }
}

/** Records the reminders, due dates and ends of claims whose time has passed. A time in the future changes nothing. */
export const recordTimes = command('task.record_times', {
  input: RecordTimes,
  target: inProject(),
  role: null,
  preload: ({ ids }) => ({ task: ids }),
  weight: ({ ids }) => ids.length,
  decide(state, context, { ids }) {
    const tasks = state.project ? presentTasks(state, ids) : []
    return { changes: tasks.flatMap((task) => timedEvents(state, context, task)), answer: undefined }
  },
  message: 'Times recorded',
})

function timedEvents(state: ProjectState, context: RuleContext, task: TaskRow): EventDraft[] {
  const { now } = context
  const changes: EventDraft[] = []
  let row = task
  const record = (verb: 'reminded' | 'due' | 'claim_expired', fields: Partial<TaskRow>) => {
    const change = updated(state, context, `task.${verb}`, row, { ...fields, updatedAt: now })
    changes.push(change)
    row = change.after
  }
  if (task.remindAt && task.remindAt <= now) record('reminded', { remindAt: null })
  if (isDue(task, now)) record('due', { dueAfter: task.dueDate })
  if (task.claimedBy && !isLive(task, now)) record('claim_expired', failedClaim(task))
  return changes
}

const isDue = ({ status, dueDate, dueAfter }: TaskRow, now: string): boolean =>
  status !== 'DONE' && dueDate !== null && dueDate <= now && dueDate > (dueAfter ?? '')

/**
 * In a project with `textEdits: "if-match"`, rejects a change of a text whose current version the caller does not name.
 * Texts that are empty now or were empty before the batch may be set.
 * @throws HttpError 428
 */
function requireTextMatch(
  state: ProjectState,
  context: RuleContext,
  task: TaskRow,
  { title, description }: Pick<TaskChange, 'title' | 'description'>,
): void {
  if (state.project?.textEdits !== 'if-match' || context.overwritesTexts || namesVersion(context)) return
  const before = context.rowBefore ? (context.rowBefore(task.id) as TaskRow | undefined) : task
  if (!before) return
  const wanted = rowFieldsOf({ title, description }, state)
  const names = (['title', 'description'] as const).filter(
    (name) => wanted[name] !== undefined && wanted[name] !== task[name] && task[name] && before[name],
  )
  if (names.length === 0) return
  const shown = responseRow(state, 'task', before, context.now)
  const suffix = taskView.etagSuffix!(shown, state.people.get(shown.claimedBy ?? ''))
  throw textUnmatched({
    id: task.id,
    etag: `"${shown.eventId}${suffix}"`,
    ...Object.fromEntries(names.map((name) => [name, before[name]!])),
  })
}

const tooLong = () =>
  invalid('text', `must leave the description at most ${maxDescription} characters: send a shorter text`)

export const appendToTask = command('task.append', {
  about:
    'Adds a text to the end of the description, after a blank line. It replaces no text of another writer, so it never needs `If-Match`. A repeat adds the text again, unless it has the same Idempotency-Key.',
  input: AppendToTask,
  target: ofTask(),
  role: 'EDITOR',
  decide(state, context, { id, field, text }) {
    const task = state.requireRow('task', id)
    requireMatch(context, task)
    const [existing, added] = [task[field], text.trim()]
    const joined = existing ? `${existing}\n\n${added}` : added
    if (!hasLength(joined, { maxLength: maxDescription })) throw tooLong()
    return changeTask(state, context, task, { [field]: joined })
  },
  view: taskView,
  errors: [tooLong()],
})
