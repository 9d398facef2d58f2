import { allPages, forFile, invite, make, openScene, openTestService, readFeed, register } from '../kit.ts'
import { remainingBudget, statusAndMessage, words } from '../kit.ts'
import type { FeedEvent, Person } from '../kit.ts'
import { createHistory } from './history-scene.ts'

const { service, client, sql, ada, grace } = await openScene(['Ada', 'Grace'])

type TaskEvent = FeedEvent & { projectId: string }
const openProject = async () => (await make(ada, '/projects', { name: 'Engine' })).id
const historyOf = async (client: Person, taskId: string, query = '') =>
  (await readFeed(client, `/tasks/${taskId}/history${query}`)) as TaskEvent[]
const typesOf = async (client: Person, taskId: string) =>
  (await historyOf(client, taskId)).map(({ type }) => type)

test('the history of a task includes its subtasks and comments, also after the task is deleted', async () => {
  const { projectId, task, comment } = await createHistory(ada, grace)
  await make(ada, '/tasks', { title: 'Another', projectId })
  await ada.delete(`/tasks/comments/${comment.id}`)
  await ada.delete(`/tasks/${task.id}`)
  const feed = await readFeed(ada, `/projects/${projectId}/events`)
  const own = feed.filter(({ taskId }) => taskId === task.id).map((event) => ({ projectId, ...event }))
  for (const query of ['', '?limit=2', '?limit=7'])
    expect(await historyOf(grace, task.id, query)).toEqual(own.toReversed())
  for (const less of [0, 1]) {
    const { headers } = await ada.get(`/tasks/${task.id}/history?limit=${own.length - less}`)
    expect([less, headers.has('link')]).toEqual([less, less === 1])
  }
  await sql`delete from subtasks where task_id = ${task.id}`
  expect(await historyOf(ada, task.id)).toHaveLength(own.length)
})

async function createMovedTask() {
  const projects = [await openProject(), await openProject(), await openProject()]
  const task = await make(ada, '/tasks', { title: 'Draw', projectId: projects[0]! })
  await make(ada, `/tasks/${task.id}/comments`, { text: 'Here' })
  for (const projectId of projects.slice(1)) {
    await ada.patch(`/tasks/${task.id}`, { projectId })
    await ada.patch(`/tasks/${task.id}`, { title: `In ${projectId}` })
  }
  return { task, projects: projects as [string, string, string] }
}

test('the history of a moved task omits the events of projects that the reader may not see', async () => {
  const { task, projects } = await createMovedTask()
  const [one, two, three] = projects
  const feeds = await Promise.all(projects.map((id) => readFeed(ada, `/projects/${id}/events`)))
  const all = feeds
    .flatMap((feed, i) => feed.map((event) => ({ projectId: projects[i]!, ...event })))
    .filter(({ taskId }) => taskId === task.id)
    .sort((a, b) => (a.id > b.id ? -1 : 1))
  expect(all).toHaveLength(8)
  for (const query of ['', '?limit=1', '?limit=3']) expect(await historyOf(ada, task.id, query)).toEqual(all)

  const visibleProjects = async (client: Person) =>
    Array.from(new Set((await historyOf(client, task.id)).map((one) => one.projectId)))
  const guest = await register(client)
  const inOne = await invite(ada, one, guest)
  await invite(ada, two, guest)
  expect(await statusAndMessage(guest, `/tasks/${task.id}/history`)).toBe('404 Task not found')
  await invite(ada, three, guest)
  const before = await guest.get(`/tasks/${task.id}/history`)
  expect(await visibleProjects(guest)).toEqual([three, two, one])
  await ada.delete(`/projects/${one}/members/${inOne.id}`)
  expect(await visibleProjects(guest)).toEqual([three, two])
  const after = await guest.get(`/tasks/${task.id}/history`, { 'if-none-match': before.headers.get('etag')! })
  expect(after.status).toBe(200)
  expect(await visibleProjects(ada)).toEqual([three, two, one])
  await ada.delete(`/projects/${two}`)
  expect(await visibleProjects(guest)).toEqual([three])
  await ada.delete(`/tasks/${task.id}`)
  expect(await visibleProjects(guest)).toEqual([three])
  expect((await typesOf(ada, task.id)).slice(0, 2)).toEqual(['task.deleted', 'task.updated'])
  await ada.delete(`/projects/${three}`)
  expect(await statusAndMessage(ada, `/tasks/${task.id}/history`)).toBe('404 Task not found')
})

test('a task whose last project is purged has no history, even in its earlier projects', async () => {
  const { task, projects } = await createMovedTask()
  await ada.delete(`/projects/${projects[2]}`)
  await sql`delete from tasks where id = ${task.id}`
  await sql`delete from events where project_id = ${projects[2]}`
  expect(await statusAndMessage(ada, `/tasks/${task.id}/history`)).toBe('404 Task not found')
})

test('a task that moves back to its first project has a single history', async () => {
  const { task, projects } = await createMovedTask()
  await ada.patch(`/tasks/${task.id}`, { projectId: projects[0] })
  const [latest, ...others] = await historyOf(ada, task.id)
  expect([latest!.type, latest!.projectId]).toEqual(['task.moved_in', projects[0]])
  expect(others[0]).toMatchObject({ type: 'task.moved_out', projectId: projects[2] })
  expect(others.at(-1)).toMatchObject({ type: 'task.created', projectId: projects[0] })
})

/** Without a small budget, the header of a budget is precise to 100 ms only. */
const small = await forFile(openTestService({ ...service.env, READS_PER_MINUTE: '99' }))

/** Returns how many reads a request costs. */
async function costOf({ token }: Person, path: string): Promise<number> {
  const person = small.client.as(token)
  const [before, after] = [await person.get('/auth/me'), await person.get(path)]
  expect(after.status).toBe(200)
  return remainingBudget(before)! - remainingBudget(after)!
}

test('a page skips a limited number of events that the reader may not see, and costs a read for each 500 of them', async () => {
  const { task, projects } = await createMovedTask()
  const [guest, member] = [await register(client), await register(client)]
  for (const id of [projects[0], projects[2]]) await invite(ada, id, guest)
  for (const id of projects) await invite(ada, id, member)
  expect(await costOf(guest, `/tasks/${task.id}/history`)).toBe(1)
  const [arrived] = await sql<{ id: string }[]>`
    select id from events where project_id = ${projects[1]} and type = 'task.moved_in'`
  await sql`
    insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, before, after, task_id)
    select project_id, 100 + n, (left(${arrived!.id}::text, 24) || lpad(to_hex(n), 12, 'f'))::uuid, 'task.updated',
      entity, entity_id, actor_id, at, before, after, task_id
    from events, generate_series(1, 25000) n where project_id = ${projects[1]} and type = 'task.moved_in'`
  expect(await costOf(guest, `/tasks/${task.id}/history?limit=40`)).toBe(21)
  expect(await costOf(guest, `/tasks/${task.id}/history?limit=2`)).toBe(1)
  expect(await costOf(member, `/tasks/${task.id}/history?limit=40`)).toBe(1)
  const pages = (await allPages(guest, `/tasks/${task.id}/history`)) as unknown as FeedEvent[][]
  const types = words('task.updated task.moved_in task.moved_out comment.created task.created')
  expect([pages.length, pages.flat().map(({ type }) => type)]).toEqual([3, types])
})
