import { expect, test } from 'bun:test'
import type { EventDraft } from '../../src/model/events.ts'
import { react } from '../../workers/reactions.ts'
import { busy, eventOf, memberOf, project, projectId, task, viewer } from './events.ts'

const jobsOf = (change: EventDraft) => react({ ...change, seq: 1, actorId: 'someone', at: task.createdAt })

test('project.deleted creates a job that purges the project', () => {
  const jobs = jobsOf(eventOf('project.deleted', 'project', project, null))
  expect(jobs).toEqual([{ name: 'purge-project', data: { projectId } }])
})

test('task.deleted creates a job that purges the task and its children', () => {
  const jobs = jobsOf(eventOf('task.deleted', 'task', task, null))
  expect(jobs).toEqual([{ name: 'purge-task', data: { taskId: task.id, eventId: 'new-1' } }])
})

test('member.removed creates a job that unassigns the tasks of the member', () => {
  const jobs = jobsOf(eventOf('member.removed', 'member', memberOf(viewer, 'VIEWER'), null))
  expect(jobs).toEqual([{ name: 'unassign-member', data: { projectId, userId: viewer } }])
})

test('other events, such as task.moved_out, create no jobs', () => {
  expect(busy.flatMap(jobsOf)).toEqual([])
  expect(jobsOf(eventOf('task.moved_out', 'task', task, null))).toEqual([])
})
