import type { TaskRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import type { RuleContext } from '../../src/commands/command.ts'
import type { Decision } from '../../src/log/rule.ts'
import { noClaim } from '../../src/model/claims.ts'
import { diff, updated } from '../../src/model/events.ts'
import { timesOf } from '../reminders/times.ts'
import { type Editable, requireAssignable } from './fields.ts'

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
  const ended = fields.status === 'DONE' && task.claimedBy ? noClaim : undefined
  const times = timesOf(fields, context.now, task)
  const changed = { ...fields, ...ended, ...times, updatedAt: context.now }
  const change = updated(state, context, 'task.updated', task, changed)
  return { changes: [change], answer: change.after }
}
