import { expect, test } from 'bun:test'
import type { EventDraft } from '../../src/model/events.ts'
import { react } from '../../workers/reactions.ts'
import { busy, fact, memberOf, project, projectId, task, viewer } from './facts.ts'

const jobsOf = (change: EventDraft) => react({ ...change, seq: 1, actorId: 'someone', at: task.createdAt })

test('a deleted project asks for the removal of what is inside', () => {
  const jobs = jobsOf(fact('project.deleted', 'project', project, null))
  expect(jobs).toEqual([{ name: 'purge-project', data: { projectId } }])
})

test('a deleted task asks for the removal of what hangs on it', () => {
  const jobs = jobsOf(fact('task.deleted', 'task', task, null))
  expect(jobs).toEqual([{ name: 'purge-task', data: { taskId: task.id, eventId: 'new-1' } }])
})

test('a removed member asks that their tasks be taken from them', () => {
  const jobs = jobsOf(fact('member.removed', 'member', memberOf(viewer, 'VIEWER'), null))
  expect(jobs).toEqual([{ name: 'unassign-member', data: { projectId, userId: viewer } }])
})

test('nothing else asks for anything, a task that moved away least of all', () => {
  expect(busy.flatMap(jobsOf)).toEqual([])
  expect(jobsOf(fact('task.moved_out', 'task', task, null))).toEqual([])
})
