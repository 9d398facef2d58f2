import type { TaskRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import type { RuleContext } from '../../src/commands/command.ts'
import type { Decision } from '../../src/log/rule.ts'
import { endClaim } from '../../src/model/claims.ts'
import { diff, updated } from '../../src/model/events.ts'
import { timesOf } from '../reminders/times.ts'
import { defaults, type Editable, fieldsOf, requireAssignable } from './fields.ts'
import type { TaskInput } from './schema.ts'

/** The row of a new task without its id. @throws HttpError 400 */
export function newTask(state: ProjectState, now: string, input: Omit<TaskInput, 'id' | 'projectId'>) {
  requireAssignable(state, input.assigneeId)
  const fields = fieldsOf(input, state)
  return {
    projectId: state.projectId,
    number: state.lastNumber + 1,
    ...defaults,
    ...fields,
    ...timesOf(fields, now),
    title: input.title.trim(),
    createdAt: now,
    updatedAt: now,
  }
}

/** Changes a task within its project. Without a changed value there is no event. @throws HttpError 400 */
export function changeTask(
  state: ProjectState,
  context: RuleContext,
  task: TaskRow,
  wanted: Partial<Editable>,
): Decision<TaskRow> {
  requireAssignable(state, wanted.assigneeId)
  const fields = diff<Partial<Editable>>(task, wanted)
  if (!fields) return { changes: [], answer: task }
  const ended = fields.status === 'DONE' ? endClaim(task) : undefined
  const times = timesOf(fields, context.now, task)
  const changed = { ...fields, ...ended, ...times, updatedAt: context.now }
  const change = updated(state, context, 'task.updated', task, changed)
  return { changes: [change], answer: change.after }
}
