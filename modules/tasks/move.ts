import type { TaskRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import type { RuleContext } from '../../src/commands/command.ts'
import { inParts, isTooMuch, mostMoved } from '../../src/log/children.ts'
import { carrying } from '../../src/log/rows.ts'
import { created, deleted, updated } from '../../src/model/events.ts'
import { movedReferences } from '../../src/model/references.ts'
import { conflict } from '../../src/responses/errors.ts'
import { type Editable, requireAssignable } from './fields.ts'

/** The task gets the next number of the target project, and loses an assignee who is not a member there. */
export function move(
  source: ProjectState,
  target: ProjectState,
  known: RuleContext,
  task: TaskRow,
  wanted: Partial<Editable>,
) {
  requireAssignable(target, wanted.assigneeId)
  const { movingChildren } = source
  if (!movingChildren) throw new Error('The children of the task are not loaded')
  if (isTooMuch(movingChildren)) throw tooMuchToMove()
  const { eventId: _, ...kept } = task
  const { projectId, lastNumber } = target
  const references = movedReferences('task', task, source, target)
  const moved = {
    ...{ ...kept, ...references, ...wanted },
    ...{ projectId, number: lastNumber + 1, updatedAt: known.now },
  }
  if (moved.assigneeId && !target.roleOf(moved.assigneeId)) moved.assigneeId = null
  const [along, ...more] = inParts(movingChildren)
  // The last event has the command's id, and the row that the command answers.
  const meanwhile = { newEventId: () => known.newId() }
  const departure = deleted(source, meanwhile, 'task.moved_out', task)
  const arrival = created(target, more.length > 0 ? meanwhile : known, 'task.moved_in', moved)
  let last = arrival.after
  const further = more.map((part, i) => {
    const isLast = i === more.length - 1
    const change = updated(target, isLast ? known : meanwhile, 'task.moved_in', last, {})
    last = change.after
    return carrying(change, part)
  })
  return { changes: [departure, carrying(arrival, along!), ...further], answer: last }
}

export function tooMuchToMove() {
  const most = `${mostMoved.rows} subtasks and comments, or ${mostMoved.characters} characters in them,`
  return conflict(`A task with more than ${most} cannot move to another project`)
}
