import { allPages, forFile, invite, make, makeTasks, newId, nextPath, openScene } from '../kit.ts'
import { openTestService, readFeed, register, remainingBudget, statusAndMessage, upTo } from '../kit.ts'
import { words } from '../kit.ts'
import type { FeedEvent, Person } from '../kit.ts'

const { client, sql, ada, grace, service } = await openScene(['Ada', 'Grace'], { HISTORY_DAYS: '30' })

const createProject = async () => (await make(ada, '/projects', { name: 'Engine' })).id

/** Creates a project with a member, a task, a subtask and a comment: 8 events, of which three are Grace's. */
async function createHistory() {
  const projectId = await createProject()
  const member = await invite(ada, projectId, grace, 'EDITOR')
  const task = await make(ada, '/tasks', { title: 'Draw', projectId })
  await grace.patch(`/tasks/${task.id}`, { status: 'DONE' })
  const subtask = await make(ada, `/tasks/${task.id}/subtasks`, { title: 'Sharpen' })
  await grace.patch(`/tasks/subtasks/${subtask.id}/toggle`)
  const comment = await make(grace, `/tasks/${task.id}/comments`, { text: 'Oil it' })
  await ada.patch(`/projects/${projectId}`, { name: 'Machine' })
  return { projectId, member, task, subtask, comment }
}

const historyPath = (projectId: string, query = '') => `/projects/${projectId}/history${query}`
const read = (projectId: string, query = '') => readFeed(ada, historyPath(projectId, query))
const seqsOf = async (projectId: string, query = '') => (await read(projectId, query)).map(({ seq }) => seq)
const seqsIn = (body: unknown) => (body as FeedEvent[]).map(({ seq }) => seq)
const countDown = (from: number, to: number) =>
  upTo(from)
    .slice(to - 1)
    .reverse()

type TaskEvent = FeedEvent & { projectId: string }
const taskPath = (taskId: string, query = '') => `/tasks/${taskId}/history${query}`
const historyOf = async (by: Person, taskId: string, query = '') =>
  (await readFeed(by, taskPath(taskId, query))) as TaskEvent[]

test("a project's history is its feed in reverse, page by page, and its parameters select events", async () => {
  const { projectId, task, subtask, member } = await createHistory()
  const feed = await readFeed(ada, `/projects/${projectId}/events`)
  for (const all of ['', '?from=0001-01-01&to=9999-12-31'])
    expect(await read(projectId, all)).toEqual(feed.toReversed())
  for (const none of ['?from=2999-01-01', '?to=2000-01-01']) expect(await seqsOf(projectId, none)).toEqual([])
  const first = await ada.get(historyPath(projectId, '?limit=3'))
  expect([seqsIn(first.body), first.headers.get('docket-version')]).toEqual([[8, 7, 6], '8'])
  await make(ada, '/tasks', { title: 'Meanwhile', projectId })
  expect(await readFeed(ada, nextPath(first.headers)!)).toEqual(feed.slice(0, 5).toReversed())
  expect((await ada.get(historyPath(projectId, '?limit=9'))).headers.get('link')).toBeNull()
  const selected: Record<string, number[]> = {
    'entity=task': [9, 4, 3],
    'entity=comment&limit=1': [7],
    [`entity=${task.id.toUpperCase()}`]: [4, 3],
    [`entity=${subtask.id}`]: [6, 5],
    [`entity=${member.id}`]: [2],
    [`actor=${grace.id}`]: [7, 6, 4],
    [`actor=${newId()}`]: [],
    'type=task.created,project.updated': [9, 8, 3],
    [`type=task.updated,comment.created&actor=${grace.id}&entity=task`]: [4],
  }
  for (const [query, seqs] of Object.entries(selected))
    expect([query, await seqsOf(projectId, `?${query}`)]).toEqual([query, seqs])
})

test('the parameters from and to select a period with both bounds, also if the log contains events from the future', async () => {
  const projectId = await createProject()
  await makeTasks(ada, projectId, 15)
  for (const range of ['1-1', '8-8', '16-16', '3-10', '1-15', '12-16']) {
    const [first, last] = range.split('-').map(Number) as [number, number]
    const rows = await sql<{ seq: number; at: string }[]>`
      update events set at = now() + (seq - 20) * interval '1 minute' + case
        when seq between ${first} and ${last} then interval '1 year' else interval '0' end
      where project_id = ${projectId} returning seq::float8 as seq, at`
    const at = new Map(rows.map((event) => [event.seq, encodeURIComponent(event.at)]))
    const inPast = countDown(16, 1).filter((seq) => seq < first || seq > last)
    const [later, earlier] = [inPast[0]!, inPast.at(-2) ?? inPast[0]!]
    const period = await seqsOf(projectId, `?from=${at.get(earlier)}&to=${at.get(later)}&limit=2`)
    expect(period.filter((seq) => inPast.includes(seq))).toEqual(
      inPast.slice(0, Math.max(1, inPast.length - 1)),
    )
    for (const [n, seq] of inPast.entries()) {
      expect(await seqsOf(projectId, `?to=${at.get(seq)}`)).toEqual(countDown(seq, 1))
      const earliest = (inPast[n + 1] ?? 0) + 1
      expect(await seqsOf(projectId, `?from=${at.get(seq)}`)).toEqual(countDown(16, earliest))
    }
  }
})

test('rejects invalid parameters with 400, and strangers and unknown ids with 404', async () => {
  const { projectId, task } = await createHistory()
  const stranger = await register(client)
  const invalid: Record<string, string> = {
    'entity=tasks': 'entity must be an entity or an id',
    'actor=me': 'actor must be the id of the user who made the change',
    'type=task.exploded': 'type must be event types, separated by commas',
    'from=yesterday': 'from must be an ISO 8601 date-time',
    'to=2027-02-30': 'to must be an ISO 8601 date-time',
    'cursor=WyJ4Il0': 'cursor must be from a Link header of this list',
    'types=task.created': 'types is not known here; did you mean type?',
  }
  for (const [query, message] of Object.entries(invalid))
    expect(await statusAndMessage(ada, historyPath(projectId, `?${query}`))).toStartWith(`400 ${message}`)
  expect(await statusAndMessage(ada, taskPath(task.id, '?cursor=WyI3Il0'))).toStartWith('400 cursor')
  for (const id of [projectId, 'none', newId()])
    expect(await statusAndMessage(stranger, historyPath(id))).toBe('404 Project not found')
  for (const id of [task.id, newId(), 'none', projectId])
    expect(await statusAndMessage(stranger, taskPath(id))).toBe('404 Task not found')
  await ada.delete(`/projects/${projectId}`)
  expect(await statusAndMessage(ada, historyPath(projectId))).toBe('404 Project not found')
  expect(await statusAndMessage(ada, taskPath(task.id))).toBe('404 Task not found')
})

test("an unchanged feed or history gets 304 until an actor's name changes; a deleted account has no name", async () => {
  const hopper = await register(client, 'Hopper')
  const { projectId, task } = await createHistory()
  await invite(ada, projectId, hopper, 'EDITOR')
  await make(hopper, `/tasks/${task.id}/comments`, { text: 'Mine' })
  const feed = `/projects/${projectId}/events?after=9`
  for (const path of [historyPath(projectId), taskPath(task.id), feed]) {
    const { headers, body } = await ada.get(path)
    expect(body[0]).toMatchObject({ actor: { id: hopper.id } })
    const condition = { 'if-none-match': headers.get('etag')! }
    const unchanged = await ada.get(path, condition)
    expect([unchanged.status, unchanged.headers.get('docket-version')]).toEqual([304, '10'])
    const name = `Admiral ${path}`
    await hopper.patch('/auth/me', { name })
    const renamed = await ada.get(path, condition)
    expect([renamed.status, renamed.body[0] as object]).toMatchObject([200, { actor: { name } }])
  }
  await hopper.delete('/auth/me')
  const [, invited] = await readFeed(ada, `/projects/${projectId}/events?types=member.invited`)
  expect(invited!.after).toMatchObject({ user: null })
})

test('a history ends at the oldest stored event', async () => {
  const { projectId, task } = await createHistory()
  const paths = [historyPath(projectId), taskPath(task.id)] as const
  const tags = await Promise.all(paths.map(async (path) => (await ada.get(path)).headers.get('etag')!))
  await sql`delete from events where project_id = ${projectId} and seq < 6`
  const now = await Promise.all(paths.map((path, i) => ada.get(path, { 'if-none-match': tags[i]! })))
  expect(now.map(({ body }) => seqsIn(body))).toEqual([countDown(8, 6), countDown(7, 6)])
  expect(await seqsOf(projectId, '?type=project.updated,project.created')).toEqual([8])
  expect(await seqsOf(projectId, '?to=2000-01-01')).toEqual([])
  for (const limit of [2, 3])
    expect((await ada.get(`${paths[0]}?limit=${limit}`)).headers.has('link')).toBe(limit === 2)
  await sql`delete from events where project_id = ${projectId} and seq < 8`
  expect((await ada.get(paths[1])).text).toBe('[]')
})

test('a page reads a limited number of events, and links to the next page even if it shows few events', async () => {
  const { projectId, task } = await createHistory()
  await sql`
    insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, before, after)
    select project_id, n, uuidv7(), type, entity, entity_id, actor_id, at, before, after
    from events, generate_series(9, 25000) n where project_id = ${projectId} and seq = 8`
  await sql`update streams set version = 25000 where project_id = ${projectId}`
  const pages = await allPages(ada, historyPath(projectId, '?entity=task'))
  expect([pages.length, seqsIn(pages.flat())]).toEqual([3, [4, 3]])
  expect(await seqsOf(projectId, `?entity=${task.id}`)).toEqual([4, 3])
})

test('the history of a task includes its subtasks and comments, also after the task is deleted', async () => {
  const { projectId, task, comment } = await createHistory()
  await make(ada, '/tasks', { title: 'Another', projectId })
  await ada.delete(`/tasks/comments/${comment.id}`)
  await ada.delete(`/tasks/${task.id}`)
  const feed = await readFeed(ada, `/projects/${projectId}/events`)
  const own = feed.filter(({ taskId }) => taskId === task.id).map((event) => ({ projectId, ...event }))
  for (const query of ['', '?limit=2', '?limit=7'])
    expect(await historyOf(grace, task.id, query)).toEqual(own.toReversed())
  for (const less of [0, 1]) {
    const { headers } = await ada.get(taskPath(task.id, `?limit=${own.length - less}`))
    expect([less, headers.has('link')]).toEqual([less, less === 1])
  }
  await sql`delete from subtasks where task_id = ${task.id}`
  expect(await historyOf(ada, task.id)).toHaveLength(own.length)
})

async function createMovedTask() {
  const projects = [await createProject(), await createProject(), await createProject()]
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

  const seenBy = async (by: Person) => [
    ...new Set((await historyOf(by, task.id)).map((one) => one.projectId)),
  ]
  const guest = await register(client)
  const inOne = await invite(ada, one, guest)
  await invite(ada, two, guest)
  expect(await statusAndMessage(guest, taskPath(task.id))).toBe('404 Task not found')
  await invite(ada, three, guest)
  const before = await guest.get(taskPath(task.id))
  expect(await seenBy(guest)).toEqual([three, two, one])
  await ada.delete(`/projects/${one}/members/${inOne.id}`)
  expect(await seenBy(guest)).toEqual([three, two])
  const after = await guest.get(taskPath(task.id), { 'if-none-match': before.headers.get('etag')! })
  expect(after.status).toBe(200)
  expect(await seenBy(ada)).toEqual([three, two, one])
  await ada.delete(`/projects/${two}`)
  expect(await seenBy(guest)).toEqual([three])
  await ada.delete(`/tasks/${task.id}`)
  expect(await seenBy(guest)).toEqual([three])
  const types = (await historyOf(ada, task.id)).map(({ type }) => type)
  expect(types.slice(0, 2)).toEqual(['task.deleted', 'task.updated'])
  await ada.delete(`/projects/${three}`)
  expect(await statusAndMessage(ada, taskPath(task.id))).toBe('404 Task not found')
})

test('a task has a single history after a move back, and none after the purge of its last project', async () => {
  const { task, projects } = await createMovedTask()
  await ada.patch(`/tasks/${task.id}`, { projectId: projects[0] })
  const events = (await historyOf(ada, task.id)).map(({ type, projectId }) => [type, projectId])
  expect(events.slice(0, 2)).toEqual([
    ['task.moved_in', projects[0]],
    ['task.moved_out', projects[2]],
  ])
  expect(events.at(-1)).toEqual(['task.created', projects[0]])
  await ada.patch(`/tasks/${task.id}`, { projectId: projects[1] })
  await ada.delete(`/projects/${projects[1]}`)
  await sql`delete from tasks where id = ${task.id}`
  await sql`delete from events where project_id = ${projects[1]}`
  expect(await statusAndMessage(ada, taskPath(task.id))).toBe('404 Task not found')
})

test('a page skips a limited number of events that the reader may not see, and costs a read for each 500 of them', async () => {
  // With a large budget, the header is precise to 100 ms only.
  const small = await forFile(openTestService({ ...service.env, READS_PER_MINUTE: '99' }))
  const costOf = async ({ token }: Person, path: string): Promise<number> => {
    const person = small.client.as(token)
    const [before, after] = [await person.get('/auth/me'), await person.get(path)]
    expect(after.status).toBe(200)
    return remainingBudget(before)! - remainingBudget(after)!
  }
  const { task, projects } = await createMovedTask()
  const [guest, member] = [await register(client), await register(client)]
  for (const id of [projects[0], projects[2]]) await invite(ada, id, guest)
  for (const id of projects) await invite(ada, id, member)
  expect(await costOf(guest, taskPath(task.id))).toBe(1)
  const [arrived] = await sql<{ id: string }[]>`
    select id from events where project_id = ${projects[1]} and type = 'task.moved_in'`
  await sql`
    insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, before, after, task_id)
    select project_id, 100 + n, (left(${arrived!.id}::text, 24) || lpad(to_hex(n), 12, 'f'))::uuid, 'task.updated',
      entity, entity_id, actor_id, at, before, after, task_id
    from events, generate_series(1, 25000) n where project_id = ${projects[1]} and type = 'task.moved_in'`
  expect(await costOf(guest, taskPath(task.id, '?limit=40'))).toBe(21)
  expect(await costOf(guest, taskPath(task.id, '?limit=2'))).toBe(1)
  expect(await costOf(member, taskPath(task.id, '?limit=40'))).toBe(1)
  const pages = (await allPages(guest, taskPath(task.id))) as unknown as FeedEvent[][]
  const types = words('task.updated task.moved_in task.moved_out comment.created task.created')
  expect([pages.length, pages.flat().map(({ type }) => type)]).toEqual([3, types])
})
