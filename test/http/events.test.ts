import { expect, test } from 'bun:test'
import { model } from '../../modules/modules.ts'
import { type Body, invite, make, register } from '../support/client.ts'
import { said } from './answers.ts'
import { type FeedEvent, readFeed } from './feed.ts'
import { openScene } from '../support/scene.ts'

const { client, sql, ada } = await openScene(['Ada'])

const openProject = async () => (await make(ada, '/projects', { name: 'Engine' })).id
const feedOf = (projectId: string, query = '') => `/projects/${projectId}/events${query}`
const read = (projectId: string, query = '') => readFeed(ada, feedOf(projectId, query))
const sidesOf = ({ type, before, after }: FeedEvent) => ({ type, before, after })
const view = (body: Body) => body as unknown as Record<string, unknown>

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
  expect(events.map(sidesOf)).toEqual([
    { type: 'project.created', before: null, after: view(project) },
    { type: 'member.invited', before: null, after: view(member) },
    { type: 'task.created', before: null, after: view(task) },
    {
      type: 'task.updated',
      before: { status: 'TODO', updatedAt: task.updatedAt },
      after: { status: 'DONE', updatedAt: changed.updatedAt },
    },
    { type: 'subtask.created', before: null, after: view(subtask) },
    { type: 'subtask.toggled', before: { completed: false }, after: { completed: true } },
    { type: 'comment.created', before: null, after: view(comment) },
    { type: 'comment.deleted', before: view(comment), after: null },
  ])
  expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  expect(events.map(({ taskId }) => taskId)).toEqual([null, null, ...Array(6).fill(task.id)])
  expect(events[3]!.actor).toEqual({ id: grace.id, name: 'Grace' })
  expect(events[3]).toMatchObject({ entity: 'task', entityId: task.id, batch: null })
  expect(new Set(events.map(({ id }) => id)).size).toBe(8)
})

test('pages lead on, and each says the version', async () => {
  const projectId = await openProject()
  for (let i = 0; i < 4; i++) await make(ada, '/tasks', { title: `T${i}`, projectId })
  const first = await ada.get(feedOf(projectId, '?limit=2'))
  expect(first.headers.get('docket-version')).toBe('5')
  expect(first.headers.get('link')).toBe(`</api/v1${feedOf(projectId, '?limit=2&after=2')}>; rel="next"`)
  expect((await read(projectId, '?limit=2')).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5])
  expect((await read(projectId, '?after=3')).map(({ seq }) => seq)).toEqual([4, 5])
  const end = await ada.get(feedOf(projectId, '?after=5'))
  expect([end.text, end.headers.get('link'), end.headers.get('docket-version')]).toEqual(['[]', null, '5'])
})

test('a page ends where it is large enough, and those after it miss nothing', async () => {
  const projectId = await openProject()
  const { id: taskId } = await make(ada, '/tasks', { title: 'Talk', projectId })
  const text = 'é'.repeat(20_000)
  for (let i = 0; i < 60; i++) await make(ada, `/tasks/${taskId}/comments`, { text })
  const first = await ada.get(feedOf(projectId, '?limit=500'))
  expect(first.body.length).toBeLessThan(30)
  const seqs = (await read(projectId, '?limit=500&types=comment.created')).map(({ seq }) => seq)
  expect(seqs).toEqual(Array.from({ length: 60 }, (_, i) => i + 3))
})

test('only what is asked for is shown', async () => {
  const projectId = await openProject()
  const task = await make(ada, '/tasks', { title: 'Draw', projectId })
  await ada.patch(`/tasks/${task.id}`, { status: 'DONE' })
  await make(ada, `/tasks/${task.id}/comments`, { text: 'Oil it' })
  const typesOf = async (query: string) => (await read(projectId, query)).map(({ type }) => type)
  expect(await typesOf('?types=task.created,comment.created')).toEqual(['task.created', 'comment.created'])
  expect(await typesOf('?types=task.updated&limit=1')).toEqual(['task.updated'])
  expect(await typesOf('?types=task.deleted')).toEqual([])
  expect(await typesOf(`?types=${model.eventTypes.join(',')}`)).toHaveLength(4)
})

test('what cannot be is refused', async () => {
  const projectId = await openProject()
  const stranger = await register(client)
  for (const query of ['?types=task.exploded', '?types=', '?types=task.created,', '?types=constructor'])
    expect(await said(ada, feedOf(projectId, query))).toStartWith(
      '400 types must be event types with commas between',
    )
  for (const query of ['?after=-1', '?after=x', '?after=1.5', '?after=1e3', '?after='])
    expect(await said(ada, feedOf(projectId, query))).toStartWith('400 after must be a whole number')
  for (const query of ['?limit=0', '?limit=501'])
    expect(await said(ada, feedOf(projectId, query))).toBe('400 limit must be a whole number from 1 to 500')
  expect(await said(ada, feedOf(projectId, '?after=2'))).toStartWith('400 after is ahead of the project')
  for (const path of [feedOf(projectId), feedOf(projectId, '?after=7'), feedOf('none')])
    expect(await said(stranger, path)).toBe('404 Project not found')
  await ada.delete(`/projects/${projectId}`)
  expect(await said(ada, feedOf(projectId))).toBe('404 Project not found')
})

test('a feed is not sent again to who has it, and names are those of now', async () => {
  const projectId = await openProject()
  const grace = await register(client, 'Grace')
  await invite(ada, projectId, grace)
  const { headers } = await ada.get(feedOf(projectId))
  const etag = headers.get('etag')!
  const again = await ada.get(feedOf(projectId), { 'if-none-match': etag })
  expect([again.status, again.headers.get('docket-version')]).toEqual([304, '2'])
  await grace.patch('/auth/me', { name: 'Admiral Grace' })
  const renamed = await ada.get(feedOf(projectId), { 'if-none-match': etag })
  expect(renamed.status).toBe(200)
  expect(renamed.body[1]).toMatchObject({ after: { user: { name: 'Admiral Grace', email: grace.email } } })
  await grace.delete('/auth/me')
  const [, gone] = await read(projectId)
  expect(gone!.after).toMatchObject({ user: null })
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
