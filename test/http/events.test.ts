import { model } from '../../modules/modules.ts'
import { allPages, applyEvent, cases, emptyReplica, invite, make, nextPath, openScene } from '../kit.ts'
import { readFeed, register, statusAndMessage, upTo } from '../kit.ts'
import type { Body, Replica } from '../kit.ts'
import fc from 'fast-check'

const { client, sql, ada, grace } = await openScene(['Ada', 'Grace'])

const createProject = async () => (await make(ada, '/projects', { name: 'Engine' })).id
const feedPath = (projectId: string, query = '') => `/projects/${projectId}/events${query}`
const read = (projectId: string, query = '') => readFeed(ada, feedPath(projectId, query))
const seqsOf = async (projectId: string, query = '') => (await read(projectId, query)).map(({ seq }) => seq)

test('the feed contains every change in order, with rows as the API returns them', async () => {
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
  const changedFields = ({ status, updatedAt }: Body) => ({ status, updatedAt })
  const expected: [type: string, before: unknown, after: unknown][] = [
    ['project.created', null, project],
    ['member.invited', null, member],
    ['task.created', null, task],
    ['task.updated', changedFields(task), changedFields(changed)],
    ['subtask.created', null, subtask],
    ['subtask.toggled', { completed: false }, { completed: true }],
    ['comment.created', null, comment],
    ['comment.deleted', comment, null],
  ]
  expect(events.map(({ type, before, after }): unknown[] => [type, before, after])).toEqual(expected)
  expect(events.map(({ seq }) => seq)).toEqual(upTo(8))
  expect(events.map(({ taskId }) => taskId)).toEqual([null, null, ...Array(6).fill(task.id)])
  const actor = { id: grace.id, name: 'Grace' }
  expect(events[3]).toMatchObject({ actor, entity: 'task', entityId: task.id, batch: null })
  expect(new Set(events.map(({ id }) => id)).size).toBe(8)
})

test('each page links to the next and names the version of the project', async () => {
  const projectId = await createProject()
  for (const n of upTo(4)) await make(ada, '/tasks', { title: `T${n}`, projectId })
  const first = await ada.get(feedPath(projectId, '?limit=2'))
  const link = `</api/v1${feedPath(projectId, '?limit=2&after=2')}>; rel="next"`
  expect([first.headers.get('docket-version'), first.headers.get('link')]).toEqual(['5', link])
  expect(await seqsOf(projectId, '?limit=2')).toEqual(upTo(5))
  expect(await seqsOf(projectId, '?after=3')).toEqual([4, 5])
  const end = await ada.get(feedPath(projectId, '?after=5'))
  expect([end.text, end.headers.get('link'), end.headers.get('docket-version')]).toEqual(['[]', null, '5'])
})

test('a page with many bytes ends early, and its link continues with the next event', async () => {
  const projectId = await createProject()
  const { id: taskId } = await make(ada, '/tasks', { title: 'Talk', projectId })
  for (const _ of upTo(60)) await make(ada, `/tasks/${taskId}/comments`, { text: 'é'.repeat(20_000) })
  expect((await ada.get(feedPath(projectId, '?limit=500'))).body.length).toBeLessThan(30)
  expect(await seqsOf(projectId, '?limit=500&types=comment.created')).toEqual(upTo(62).slice(2))
})

test('the parameter types selects events by type', async () => {
  const projectId = await createProject()
  const task = await make(ada, '/tasks', { title: 'Draw', projectId })
  await ada.patch(`/tasks/${task.id}`, { status: 'DONE' })
  await make(ada, `/tasks/${task.id}/comments`, { text: 'Oil it' })
  expect(await seqsOf(projectId, '?types=task.created,comment.created')).toEqual([2, 4])
  expect(await seqsOf(projectId, '?types=task.updated&limit=1')).toEqual([3])
  expect(await seqsOf(projectId, '?types=task.deleted')).toEqual([])
  expect(await seqsOf(projectId, `?types=${model.eventTypes.join(',')}`)).toEqual(upTo(4))
})

test('rejects invalid parameters with 400, and strangers and deleted projects with 404', async () => {
  const projectId = await createProject()
  const stranger = await register(client)
  const invalid: Record<string, string[]> = {
    'types must be event types, separated by commas': [
      ...['types=task.exploded', 'types=', 'types=task.created,', 'types=constructor'],
    ],
    'after must be a whole number': ['after=-1', 'after=x', 'after=1.5', 'after=1e3', 'after='],
    'limit must be a whole number from 1 to 500': ['limit=0', 'limit=501'],
    'after is ahead of the project': ['after=2'],
  }
  for (const [message, queries] of Object.entries(invalid))
    for (const query of queries)
      expect(await statusAndMessage(ada, feedPath(projectId, `?${query}`))).toStartWith(`400 ${message}`)
  for (const path of [feedPath(projectId), feedPath(projectId, '?after=7'), feedPath('none')])
    expect(await statusAndMessage(stranger, path)).toBe('404 Project not found')
  await ada.delete(`/projects/${projectId}`)
  expect(await statusAndMessage(ada, feedPath(projectId))).toBe('404 Project not found')
})

test('an event of an earlier release, which stores the whole row in before, is returned like every other event', async () => {
  const projectId = await createProject()
  const task = await make(ada, '/tasks', { title: 'Draw', projectId })
  await ada.patch(`/tasks/${task.id}`, { priority: 'HIGH' })
  const [, , event] = await read(projectId)
  await sql`
    update events e set before = (select c.after from events c where c.project_id = e.project_id and c.seq = 2)
    where project_id = ${projectId} and seq = 3`
  // Sets a new version, so that the process reads the changed row again.
  await make(ada, '/tasks', { title: 'Another', projectId })
  expect((await read(projectId))[2]).toEqual(event!)
})

const byId = (rows: Iterable<object>) => [...rows].sort((a, b) => ((a as Body).id < (b as Body).id ? -1 : 1))
const listAll = async (path: string) => (await allPages(ada, path)).flat()

async function readLists(projectId: string): Promise<Record<string, object[]>> {
  const tasks = await listAll(`/tasks?projectId=${projectId}`)
  const childrenOf = async (list: string) =>
    byId((await Promise.all(tasks.map(({ id }) => listAll(`/tasks/${id}/${list}`)))).flat())
  return {
    project: [(await ada.get(`/projects/${projectId}`)).body],
    member: byId(await listAll(`/projects/${projectId}/members`)),
    task: byId(tasks),
    subtask: await childrenOf('subtasks'),
    comment: await childrenOf('comments'),
  }
}

const rowsOf = (replica: Replica) =>
  Object.fromEntries(Object.entries(replica).map(([entity, rows]) => [entity, byId(rows.values())]))

async function write(projectId: string, otherId: string, [kind, n]: [number, number]): Promise<void> {
  const tasks = await listAll(`/tasks?projectId=${projectId}`)
  const task = tasks[n % Math.max(1, tasks.length)]
  if (!task || kind === 0) return void (await make(ada, '/tasks', { title: `T${n}`, projectId }))
  if (kind === 1) await ada.patch(`/tasks/${task.id}`, { status: 'DONE', title: `U${n}` })
  if (kind === 2) await make(ada, `/tasks/${task.id}/subtasks`, { title: `S${n}` })
  if (kind === 3) await make(grace, `/tasks/${task.id}/comments`, { text: `C${n}` })
  if (kind === 4) await ada.delete(`/tasks/${task.id}`)
  if (kind === 5) await ada.patch(`/tasks/${task.id}`, { projectId: otherId })
  if (kind === 6) {
    const [moved] = await listAll(`/tasks?projectId=${otherId}`)
    if (moved) await ada.patch(`/tasks/${moved.id}`, { projectId })
  }
  if (kind === 7) await ada.patch(`/projects/${projectId}`, { description: `D${n}` })
}

async function createShared(): Promise<string> {
  const id = await createProject()
  await invite(ada, id, grace, 'EDITOR')
  return id
}

const writes = (maxLength: number) => fc.array(fc.tuple(fc.nat(7), fc.nat(20)), { maxLength })

test('a copy from a list and the later events, and a copy from all events, both equal the current rows', async () => {
  const property = fc.asyncProperty(writes(10), writes(15), async (before, during) => {
    const [projectId, otherId] = [await createShared(), await createShared()]
    for (const one of before) await write(projectId, otherId, one)
    const fromList = emptyReplica()
    let version: string | null = null
    for (let next: string | undefined = `/tasks?projectId=${projectId}&limit=1`; next;) {
      const { body, headers } = await ada.get(next)
      version ??= headers.get('docket-version')
      for (const task of body) fromList.task.set(task.id, task as unknown as Record<string, unknown>)
      next = nextPath(headers)
      const one = during.pop()
      if (one) await write(projectId, otherId, one)
    }
    for (const one of during) await write(projectId, otherId, one)
    for (const event of await readFeed(ada, `/projects/${projectId}/events?after=${version}`))
      applyEvent(fromList, event)
    expect(byId(fromList.task.values())).toEqual((await readLists(projectId)).task!)
    for (const id of [projectId, otherId]) {
      const replica = emptyReplica()
      const events = await readFeed(ada, `/projects/${id}/events?limit=7`)
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1))
      for (const event of events) applyEvent(replica, event)
      expect(rowsOf(replica)).toEqual(await readLists(id))
    }
  })
  await fc.assert(property, { numRuns: cases(4) })
})
