import { describe, test } from 'bun:test'
import { unassignTasks } from '../../modules/tasks/commands.ts'
import { editor, elsewhereId, fact, owner, projectGone, projectId, staffed, stranger } from './facts.ts'
import { task, taskCreated, taskOf, viewer } from './facts.ts'
import { asking, when, now, testRefusals } from './given.ts'

const worker = 'worker'
const mine = taskOf({ id: 'mine', number: 2, assigneeId: stranger })
const also = taskOf({ id: 'also', number: 3, assigneeId: stranger })
const theirs = taskOf({ id: 'theirs', number: 4, assigneeId: viewer })
const facts = [...staffed, ...[task, mine, also, theirs].map((one) => taskCreated(one))]
const ids = [task.id, mine.id, also.id, theirs.id, 'nothing']
const unassign = (userId: string, of = ids) => asking(unassignTasks, { projectId, userId, ids: of })
const after = (eventId: string) => ({ assigneeId: null, updatedAt: now, eventId })

describe('taking the tasks of somebody who went', () => {
  test('takes theirs, and no others', () => {
    when(worker, unassign(stranger), facts)
      .then(
        fact('task.unassigned', 'task', mine, { ...mine, ...after('new-1') }),
        fact('task.unassigned', 'task', also, { ...also, ...after('new-2') }),
      )
      .answering(undefined)
  })

  test('takes only those it was asked for', () => {
    when(worker, unassign(stranger, [also.id]), facts).then(
      fact('task.unassigned', 'task', also, { ...also, ...after('new-1') }),
    )
  })

  test('leaves them to somebody who is back, or who owns the project', () => {
    when(worker, unassign(viewer), facts).thenRefused(409, 'They are a member again, or all is gone')
    when(worker, unassign(owner), [...facts, taskCreated(taskOf({ assigneeId: owner }))]).thenRefused(
      409,
      'They are a member again, or all is gone',
    )
  })

  test('is nothing the second time', () => {
    const done = fact('task.unassigned', 'task', mine, { ...mine, ...after('event') })
    when(worker, unassign(stranger, [mine.id]), [...facts, done]).thenNothing(undefined)
  })

  test('leaves a task alone that was given to somebody else, or has moved away', () => {
    const reassigned = fact('task.updated', 'task', mine, { ...mine, assigneeId: editor })
    const moved = taskOf({ id: 'also', projectId: elsewhereId, assigneeId: stranger })
    when(worker, unassign(stranger), [
      ...facts,
      reassigned,
      { ...taskCreated(moved), projectId },
    ]).thenNothing(undefined)
  })

  testRefusals(facts, {
    'is nothing in a project that is gone': [
      worker,
      unassign(stranger),
      '409 They are a member again, or all is gone',
      [...facts, projectGone],
    ],
  })
})
