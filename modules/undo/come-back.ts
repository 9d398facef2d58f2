import type { MemberRow, TaskRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import type { RuleContext } from '../../src/commands/command.ts'
import { eachOf } from '../../src/log/children.ts'
import { completed } from '../../src/log/rows.ts'
import { created, type EventDraft, updated } from '../../src/model/events.ts'
import type { EventType } from '../../src/model/entities.ts'
import type { LoggedEvent } from '../../src/log/past.ts'
import { conflict, idTaken } from '../../src/responses/errors.ts'
import { overtaken, type Undoing } from './invert.ts'

export const noAccount = () => conflict('The account of this member was deleted')
export const noService = () => conflict('A service account does not come back: create another one')
export const noRoom = (most: number) => conflict(`A project has at most ${most} members`)

/** Brings back what an event took, as it was: with what hung on a task, and the tasks of a member. @throws HttpError 409 */
export function* comeBack(
  by: EventType,
  event: LoggedEvent,
  undoing: Undoing,
): Generator<[number, EventDraft]> {
  const { trial, known, past } = undoing
  const { entity, entityId, taskId, seq } = event
  const task = taskId === null ? undefined : trial.row('task', taskId)
  const isHere = task?.projectId === trial.projectId
  if (hasGoneAgain(event, undoing)) throw overtaken(event, [], undoing)
  if (entity === 'member') requireWelcome(event, undoing)
  else if (entity === 'task') {
    if (isHere) throw overtaken(event, [], undoing)
    if (task || past.elsewhere.has(seq)) throw idTaken()
  } else if ((taskId && !isHere) || trial.row(entity, entityId)) throw overtaken(event, [], undoing)
  const again = (type: EventType, row: object) => created(trial, known, type, row as never) as EventDraft
  yield [seq, again(by, completed(entity, event.before!))]
  const children = past.children.get(seq)
  for (const [child, row] of children ? eachOf(children) : [])
    yield [seq, again(`${child}.created`, completed(child, row))]
  if (entity === 'member') yield* assignedAgain(trial, known, undoing, event)
}

/** Whether it came back since and went again: as the log has it, and as this commit does. */
const hasGoneAgain = ({ seq, entity, entityId }: LoggedEvent, { past }: Undoing): boolean =>
  past.goneAgain.has(seq) ||
  past.decided.some((one) => one.entity === entity && one.entityId === entityId && !one.after)

/** @throws HttpError 409 for who cannot be a member now */
function requireWelcome(event: LoggedEvent, undoing: Undoing): void {
  const { trial, known, past } = undoing
  const { userId } = event.before as MemberRow
  const { projectMembers } = known.limits
  if (trial.roleOf(userId)) throw overtaken(event, [], undoing)
  const person = past.people.get(userId)
  if (!person) throw noAccount()
  if (person.serves) throw noService()
  if (trial.memberCount >= projectMembers) throw noRoom(projectMembers)
}

/** The tasks that their removal took from a member, as far as nobody has them since. */
function* assignedAgain(
  trial: ProjectState,
  known: RuleContext,
  { past }: Undoing,
  { seq, before }: LoggedEvent,
): Generator<[number, EventDraft]> {
  const { userId } = before as MemberRow
  const isTheirs = ({ type, before }: EventDraft) =>
    type === 'task.unassigned' && (before as TaskRow).assigneeId === userId
  for (const taken of [...past.decided.filter(isTheirs), ...(past.taken.get(seq) ?? [])]) {
    const task = trial.row('task', taken.entityId)
    if (task?.projectId !== trial.projectId || task.assigneeId !== null) continue
    const fields = { assigneeId: userId, updatedAt: known.now }
    yield [taken.seq, updated(trial, known, 'task.updated', task, fields)]
  }
}
