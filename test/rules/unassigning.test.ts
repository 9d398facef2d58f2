import { unassignTasks } from '../../modules/tasks/commands.ts'
import { noClaim } from '../../src/model/claims.ts'
import { elsewhereId, eventOf, owner, projectId, staffed, stranger } from './events.ts'
import { task, taskCreated, taskOf, viewer } from './events.ts'
import { ruleOf, when, now } from './given.ts'

const alreadyMember = 'The user is a member again, or the project is deleted'
const worker = 'worker'
const later = new Date(Date.parse(now) + 60_000).toISOString()
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
    const ofOwner = taskCreated(taskOf({ assigneeId: owner }))
    for (const user of [viewer, owner])
      when(worker, unassign(user), [...events, ofOwner]).thenRejected(409, alreadyMember)
  })

  test('ends the claims of the removed member and no others, apart from the assignment', () => {
    const claim = (claimedBy: string, claimedUntil = later) => ({ claimedBy, claimedUntil, claimSeq: 1 })
    const both = taskOf({ id: 'both', number: 5, assigneeId: stranger, ...claim(stranger) })
    const free = { ...both, ...after('new-1') }
    const ended = taskOf({ id: 'ended', number: 6, ...claim(stranger, now) })
    const held = taskOf({ id: 'held', number: 7, ...claim(viewer) })
    const rows = [...staffed, ...[both, ended, held].map((one) => taskCreated(one))]
    when(worker, unassign(stranger, [both.id, ended.id, held.id]), rows).then(
      eventOf('task.unassigned', 'task', both, free),
      eventOf('task.released', 'task', free, { ...free, ...noClaim, eventId: 'new-2' }),
      eventOf('task.claim_expired', 'task', ended, {
        ...{ ...ended, ...noClaim, updatedAt: now, eventId: 'new-3' },
      }),
    )
  })

  test('skips a task that was moved to another project', () => {
    const moved = taskOf({ id: 'also', projectId: elsewhereId, assigneeId: stranger })
    const movedEvent = { ...taskCreated(moved), projectId }
    when(worker, unassign(stranger, [also.id]), [...events, movedEvent]).thenNoEvents(undefined)
  })
})
