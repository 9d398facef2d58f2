import { expect, test } from 'bun:test'
import { model } from '../../modules/modules.ts'
import { upTo } from '../races/pair.ts'
import { type Body, invite, make, register } from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { statusAndMessage } from './responses.ts'
import { type FeedEvent, readFeed } from './feed.ts'

const { client, sql, ada } = await openScene(['Ada'])

const openProject = async () => (await make(ada, '/projects', { name: 'Engine' })).id
const feedOf = (projectId: string, query = '') => `/projects/${projectId}/events${query}`
const read = (projectId: string, query = '') => readFeed(ada, feedOf(projectId, query))
const seqsOf = async (projectId: string, query = '') => (await read(projectId, query)).map(({ seq }) => seq)

test('a feed tells all that happened, in order, by what the API shows of it', async () => {
  const project = await make(ada, '/projects', { name: 'Engine' })
  const grace = await register(client, 'Grace')
  const member = await invite(ada, project.id, grace, 'EDITOR')
  const task = await make(grace, '/tasks', { title: 'Draw', projectId: project.id })
  const changed = (await grace.patch(`/tasks/${task.id}`, { status: 'DONE', title: 'Draw' })).body
  const subtask = await make(grace, `/tasks/${task.id}/subtasks`, { title: 'Sharpen' })
  await grace.patch(`/tasks/subtasks/${subtask.id}/toggle`)
  const comment = await make(grace, `/tasks/${task.id}/comments`, { text: 'Oil it' })
  await ada.delete(`/tasks/comments/${comment.id}`)
  const events = await read(project.id)
  const part = ({ status, updatedAt }: Body) => ({ status, updatedAt })
  const told: [type: string, before: unknown, after: unknown][] = [
    ['project.created', null, project],
    ['member.invited', null, member],
    ['task.created', null, task],
    ['task.updated', part(task), part(changed)],
    ['subtask.created', null, subtask],
    ['subtask.toggled', { completed: false }, { completed: true }],
    ['comment.created', null, comment],
    ['comment.deleted', comment, null],
  ]
  const sidesOf = ({ type, before, after }: FeedEvent): unknown[] => [type, before, after]
  expect(events.map(sidesOf)).toEqual(told)
  expect(events.map(({ seq }) => seq)).toEqual(upTo(8))
  expect(events.map(({ taskId }) => taskId)).toEqual([null, null, ...Array(6).fill(task.id)])
  const actor = { id: grace.id, name: 'Grace' }
  expect(events[3]).toMatchObject({ actor, entity: 'task', entityId: task.id, batch: null })
  expect(new Set(events.map(({ id }) => id)).size).toBe(8)
})

test('pages lead on, and each says the version', async () => {
  const projectId = await openProject()
  for (const n of upTo(4)) await make(ada, '/tasks', { title: `T${n}`, projectId })
  const first = await ada.get(feedOf(projectId, '?limit=2'))
  const link = `</api/v1${feedOf(projectId, '?limit=2&after=2')}>; rel="next"`
  expect([first.headers.get('docket-version'), first.headers.get('link')]).toEqual(['5', link])
  expect(await seqsOf(projectId, '?limit=2')).toEqual(upTo(5))
  expect(await seqsOf(projectId, '?after=3')).toEqual([4, 5])
  const end = await ada.get(feedOf(projectId, '?after=5'))
  expect([end.text, end.headers.get('link'), end.headers.get('docket-version')]).toEqual(['[]', null, '5'])
})

test('a page ends where it is large enough, and those after it miss nothing', async () => {
  const projectId = await openProject()
  const { id: taskId } = await make(ada, '/tasks', { title: 'Talk', projectId })
  for (const _ of upTo(60)) await make(ada, `/tasks/${taskId}/comments`, { text: 'é'.repeat(20_000) })
  expect((await ada.get(feedOf(projectId, '?limit=500'))).body.length).toBeLessThan(30)
  expect(await seqsOf(projectId, '?limit=500&types=comment.created')).toEqual(upTo(62).slice(2))
})

test('only what is asked for is shown', async () => {
  const projectId = await openProject()
  const task = await make(ada, '/tasks', { title: 'Draw', projectId })
  await ada.patch(`/tasks/${task.id}`, { status: 'DONE' })
  await make(ada, `/tasks/${task.id}/comments`, { text: 'Oil it' })
  expect(await seqsOf(projectId, '?types=task.created,comment.created')).toEqual([2, 4])
  expect(await seqsOf(projectId, '?types=task.updated&limit=1')).toEqual([3])
  expect(await seqsOf(projectId, '?types=task.deleted')).toEqual([])
  expect(await seqsOf(projectId, `?types=${model.eventTypes.join(',')}`)).toEqual(upTo(4))
})

test('what cannot be is refused', async () => {
  const projectId = await openProject()
  const stranger = await register(client)
  const wrong: Record<string, string[]> = {
    'types must be event types with commas between': [
      ...['types=task.exploded', 'types=', 'types=task.created,', 'types=constructor'],
    ],
    'after must be a whole number': ['after=-1', 'after=x', 'after=1.5', 'after=1e3', 'after='],
    'limit must be a whole number from 1 to 500': ['limit=0', 'limit=501'],
    'after is ahead of the project': ['after=2'],
  }
  for (const [message, queries] of Object.entries(wrong))
    for (const query of queries)
      expect(await statusAndMessage(ada, feedOf(projectId, `?${query}`))).toStartWith(`400 ${message}`)
  for (const path of [feedOf(projectId), feedOf(projectId, '?after=7'), feedOf('none')])
    expect(await statusAndMessage(stranger, path)).toBe('404 Project not found')
  await ada.delete(`/projects/${projectId}`)
  expect(await statusAndMessage(ada, feedOf(projectId))).toBe('404 Project not found')
})

test('a feed is not sent again to who has it, and names are those of now', async () => {
  const projectId = await openProject()
  const grace = await register(client, 'Grace')
  await invite(ada, projectId, grace)
  const known = { 'if-none-match': (await ada.get(feedOf(projectId))).headers.get('etag')! }
  const again = await ada.get(feedOf(projectId), known)
  expect([again.status, again.headers.get('docket-version')]).toEqual([304, '2'])
  await grace.patch('/auth/me', { name: 'Admiral Grace' })
  const renamed = await ada.get(feedOf(projectId), known)
  expect(renamed.status).toBe(200)
  expect(renamed.body[1]).toMatchObject({ after: { user: { name: 'Admiral Grace', email: grace.email } } })
  await grace.delete('/auth/me')
  expect((await read(projectId))[1]!.after).toMatchObject({ user: null })
})

test('events from before changes were told alone look like all others', async () => {
  const projectId = await openProject()
  const task = await make(ada, '/tasks', { title: 'Draw', projectId })
  await ada.patch(`/tasks/${task.id}`, { priority: 'HIGH' })
  const [, , told] = await read(projectId)
  await sql`
    update events e set before = (select c.after from events c where c.project_id = e.project_id and c.seq = 2)
    where project_id = ${projectId} and seq = 3`
  // Nothing else ever changes what is written: what was kept of it has to go as well.
  await make(ada, '/tasks', { title: 'Another', projectId })
  expect((await read(projectId))[2]).toEqual(told!)
})
