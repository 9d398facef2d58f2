import type { TaskRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { command, inProject, type RuleContext } from '../../src/commands/command.ts'
import { isLive, noClaim } from '../../src/model/claims.ts'
import { type EventDraft, updated } from '../../src/model/events.ts'
import { RecordTimes } from './schema.ts'

/** Records the reminders, due dates and ends of claims that have come. A time that has not come yet changes nothing. */
export const recordTimes = command('task.record_times', {
  input: RecordTimes,
  target: inProject(),
  role: null,
  preload: ({ ids }) => ({ task: ids }),
  weight: ({ ids }) => ids.length,
  decide(state, context, { ids }) {
    const tasks = ids.flatMap((id) => state.row('task', id) ?? [])
    const present = tasks.filter(({ projectId }) => state.project && projectId === state.projectId)
    return { changes: present.flatMap((task) => timedEvents(state, context, task)), answer: undefined }
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
  if (task.claimedBy && !isLive(task, now)) record('claim_expired', noClaim)
  return changes
}

const isDue = ({ status, dueDate, dueAfter }: TaskRow, now: string): boolean =>
  status !== 'DONE' && dueDate !== null && dueDate <= now && dueDate > (dueAfter ?? '')
