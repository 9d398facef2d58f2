import type { TaskRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import type { RuleContext } from '../../src/commands/command.ts'
import { splitForEvents, exceedsMoveLimit, maxMoved } from '../../src/log/children.ts'
import { withChildren } from '../../src/log/rows.ts'
import { noClaim } from '../../src/model/claims.ts'
import { created, deleted, updated } from '../../src/model/events.ts'
import { movedReferences } from '../../src/model/references.ts'
import { conflict } from '../../src/responses/errors.ts'
import { type Editable, requireAssignable } from './fields.ts'

/** The task becomes unassigned if the assignee is not a member of the target project. */
export function move(
  source: ProjectState,
  target: ProjectState,
  context: RuleContext,
  task: TaskRow,
  wanted: Partial<Editable>,
) {
  requireAssignable(target, wanted.assigneeId)
  const { movingChildren } = source
  if (!movingChildren) throw new Error('The children of the task are not loaded')
  if (exceedsMoveLimit(movingChildren)) throw tooManyToMove()
  const { eventId: _, ...kept } = task.claimedBy ? { ...task, ...noClaim } : task
  const { projectId, lastNumber } = target
  const references = movedReferences('task', task, source, target)
  const moved = {
    ...{ ...kept, ...references, ...wanted },
    ...{ projectId, number: lastNumber + 1, updatedAt: context.now },
  }
  if (moved.assigneeId && !target.roleOf(moved.assigneeId)) moved.assigneeId = null
  const [first, ...more] = splitForEvents(movingChildren)
  // Keeps the command's id for the last event, whose row the response shows.
  const newIds = { newEventId: () => context.newId() }
  const departure = deleted(source, newIds, 'task.moved_out', task)
  const arrival = created(target, more.length > 0 ? newIds : context, 'task.moved_in', moved)
  let last = arrival.after
  const laterArrivals = more.map((part, i) => {
    const isLast = i === more.length - 1
    const change = updated(target, isLast ? context : newIds, 'task.moved_in', last, {})
    last = change.after
    return withChildren(change, part)
  })
  return { changes: [departure, withChildren(arrival, first!), ...laterArrivals], answer: last }
}

export function tooManyToMove() {
  const most = `${maxMoved.rows} subtasks and comments, or ${maxMoved.characters} characters in them,`
  return conflict(`A task with more than ${most} cannot move to another project`)
}
