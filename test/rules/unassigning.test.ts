import { describe, test } from 'bun:test'
import { unassignTasks } from '../../modules/tasks/commands.ts'
import {
  editor,
  elsewhereId,
  eventOf,
  owner,
  projectDeleted,
  projectId,
  staffed,
  stranger,
} from './given-events.ts'
import { task, taskCreated, taskOf, viewer } from './given-events.ts'
import { ruleOf, when, now, testRejections } from './given.ts'

const alreadyMember = 'The user is a member again, or the project is deleted'
const worker = 'worker'
const mine = taskOf({ id: 'mine', number: 2, assigneeId: stranger })
const also = taskOf({ id: 'also', number: 3, assigneeId: stranger })
const theirs = taskOf({ id: 'theirs', number: 4, assigneeId: viewer })
const events = [...staffed, ...[task, mine, also, theirs].map((one) => taskCreated(one))]
const ids = [task.id, mine.id, also.id, theirs.id, 'nothing']
const unassign = (userId: string, of = ids) => ruleOf(unassignTasks, { projectId, userId, ids: of })
const after = (eventId: string) => ({ assigneeId: null, updatedAt: now, eventId })

describe('task.unassign', () => {
  test('unassigns all tasks of the removed member and no others', () => {
    when(worker, unassign(stranger), events)
      .then(
        eventOf('task.unassigned', 'task', mine, { ...mine, ...after('new-1') }),
        eventOf('task.unassigned', 'task', also, { ...also, ...after('new-2') }),
      )
      .answering(undefined)
  })

  test('unassigns only the tasks with the given ids', () => {
    when(worker, unassign(stranger, [also.id]), events).then(
      eventOf('task.unassigned', 'task', also, { ...also, ...after('new-1') }),
    )
  })

  test('is rejected with 409 for a user who is a member again or owns the project', () => {
    when(worker, unassign(viewer), events).thenRejected(409, alreadyMember)
    when(worker, unassign(owner), [...events, taskCreated(taskOf({ assigneeId: owner }))]).thenRejected(
      409,
      alreadyMember,
    )
  })

  test('a second run commits no event', () => {
    const done = eventOf('task.unassigned', 'task', mine, { ...mine, ...after('event') })
    when(worker, unassign(stranger, [mine.id]), [...events, done]).thenNoEvents(undefined)
  })

  test('skips a task that was reassigned or moved to another project', () => {
    const reassigned = eventOf('task.updated', 'task', mine, { ...mine, assigneeId: editor })
    const moved = taskOf({ id: 'also', projectId: elsewhereId, assigneeId: stranger })
    when(worker, unassign(stranger), [
      ...events,
      reassigned,
      { ...taskCreated(moved), projectId },
    ]).thenNoEvents(undefined)
  })

  testRejections(events, {
    'in a deleted project': [worker, unassign(stranger), `409 ${alreadyMember}`, [...events, projectDeleted]],
  })
})
