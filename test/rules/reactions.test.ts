import type { EventDraft } from '../../src/model/events.ts'
import { react } from '../../workers/reactions.ts'
import { busy, eventOf, memberOf, project, projectId, task, viewer } from './events.ts'

const jobsOf = (change: EventDraft) => react({ ...change, seq: 1, actorId: 'someone', at: task.createdAt })

const memberRemoved = eventOf('member.removed', 'member', memberOf(viewer, 'VIEWER'), null)
test.each([
  [eventOf('project.deleted', 'project', project, null), 'purge-project', { projectId }],
  [eventOf('task.deleted', 'task', task, null), 'purge-task', { taskId: task.id, eventId: 'new-1' }],
  [memberRemoved, 'unassign-member', { projectId, userId: viewer }],
])('$type creates one job', (event, name, data) => expect(jobsOf(event)).toEqual([{ name, data } as never]))

test('other events, such as task.moved_out, create no jobs', () => {
  expect(busy.flatMap(jobsOf)).toEqual([])
  expect(jobsOf(eventOf('task.moved_out', 'task', task, null))).toEqual([])
})
