import { describe, test } from 'bun:test'
import { unassignTasks } from '../../modules/tasks/commands.ts'
import { editor, elsewhereId, fact, owner, projectGone, projectId, staffed, stranger } from './facts.ts'
import { task, taskCreated, taskOf, viewer } from './facts.ts'
import { asking, when, now, testRefusals } from './given.ts'

const alreadyMember = 'The user is a member again, or the project is deleted'
const worker = 'worker'
const mine = taskOf({ id: 'mine', number: 2, assigneeId: stranger })
const also = taskOf({ id: 'also', number: 3, assigneeId: stranger })
const theirs = taskOf({ id: 'theirs', number: 4, assigneeId: viewer })
const facts = [...staffed, ...[task, mine, also, theirs].map((one) => taskCreated(one))]
const ids = [task.id, mine.id, also.id, theirs.id, 'nothing']
const unassign = (userId: string, of = ids) => asking(unassignTasks, { projectId, userId, ids: of })
const after = (eventId: string) => ({ assigneeId: null, updatedAt: now, eventId })

describe('task.unassign', () => {
  test('unassigns all tasks of the removed member and no others', () => {
    when(worker, unassign(stranger), facts)
      .then(
        fact('task.unassigned', 'task', mine, { ...mine, ...after('new-1') }),
        fact('task.unassigned', 'task', also, { ...also, ...after('new-2') }),
      )
      .answering(undefined)
  })

  test('unassigns only the tasks with the given ids', () => {
    when(worker, unassign(stranger, [also.id]), facts).then(
      fact('task.unassigned', 'task', also, { ...also, ...after('new-1') }),
    )
  })

  test('is rejected with 409 for a user who is a member again or owns the project', () => {
    when(worker, unassign(viewer), facts).thenRefused(409, alreadyMember)
    when(worker, unassign(owner), [...facts, taskCreated(taskOf({ assigneeId: owner }))]).thenRefused(
      409,
      alreadyMember,
    )
  })

  test('commits no event the second time', () => {
    const done = fact('task.unassigned', 'task', mine, { ...mine, ...after('event') })
    when(worker, unassign(stranger, [mine.id]), [...facts, done]).thenNothing(undefined)
  })

  test('skips a task that was reassigned or moved to another project', () => {
    const reassigned = fact('task.updated', 'task', mine, { ...mine, assigneeId: editor })
    const moved = taskOf({ id: 'also', projectId: elsewhereId, assigneeId: stranger })
    when(worker, unassign(stranger), [
      ...facts,
      reassigned,
      { ...taskCreated(moved), projectId },
    ]).thenNothing(undefined)
  })

  testRefusals(facts, {
    'in a deleted project': [worker, unassign(stranger), `409 ${alreadyMember}`, [...facts, projectGone]],
  })
})
