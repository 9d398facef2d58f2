import { allPages, invite, make, makeTasks, newId, nextPath, openScene } from '../kit.ts'
import { readFeed, register, runBatch, upTo, words } from '../kit.ts'
import type { FeedEvent } from '../kit.ts'

const { client, sql, ada, grace } = await openScene(['Ada', 'Grace'], { HISTORY_DAYS: '30' })

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
const taskPath = (taskId: string, query = '') => `/tasks/${taskId}/history${query}`
const read = (projectId: string, query = '') => readFeed(ada, historyPath(projectId, query))
const seqsIn = (body: unknown) => (body as FeedEvent[]).map(({ seq }) => seq)
const seqsOf = async (projectId: string, query = '') => seqsIn(await read(projectId, query))
const countDown = (from: number, to: number) =>
  upTo(from)
    .slice(to - 1)
    .reverse()

test("a project's history is its feed in reverse, page by page, and its parameters select events", async () => {
  const { projectId, task, subtask, member } = await createHistory()
  const feed = await readFeed(ada, `/projects/${projectId}/events`)
  for (const all of ['', '?from=0001-01-01&to=9999-12-31'])
    expect(await read(projectId, all)).toEqual(feed.toReversed())
  const first = await ada.get(historyPath(projectId, '?limit=3'))
  expect([seqsIn(first.body), first.headers.get('docket-version')]).toEqual([[8, 7, 6], '8'])
  await make(ada, '/tasks', { title: 'Meanwhile', projectId })
  expect(await readFeed(ada, nextPath(first.headers)!)).toEqual(feed.slice(0, 5).toReversed())
  expect((await ada.get(historyPath(projectId, '?limit=9'))).headers.get('link')).toBeNull()
  const selected: Record<string, number[]> = {
    'from=2999-01-01': [],
    'to=2000-01-01': [],
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
  const operations = [
    { op: 'comment.delete', id: comment.id },
    { op: 'task.delete', id: task.id },
  ]
  await runBatch(ada, projectId, operations)
  const feed = await readFeed(ada, `/projects/${projectId}/events`)
  const own = feed.filter(({ taskId }) => taskId === task.id).map((event) => ({ projectId, ...event }))
  for (const query of ['', '?limit=2', '?limit=7'])
    expect(await readFeed(grace, taskPath(task.id, query))).toEqual(own.toReversed())
  for (const less of [0, 1]) {
    const { headers } = await ada.get(taskPath(task.id, `?limit=${own.length - less}`))
    expect([less, headers.has('link')]).toEqual([less, less === 1])
  }
  await sql`delete from subtasks where task_id = ${task.id}`
  expect(await readFeed(ada, taskPath(task.id))).toHaveLength(own.length)
})

test('a page scans as many events as it may show, also events that the reader may not see', async () => {
  const projects = [await createProject(), await createProject(), await createProject()] as const
  const task = await make(ada, '/tasks', { title: 'Draw', projectId: projects[0] })
  await make(ada, `/tasks/${task.id}/comments`, { text: 'Here' })
  for (const projectId of projects.slice(1)) await ada.patch(`/tasks/${task.id}`, { projectId })
  await ada.patch(`/tasks/${task.id}`, { title: 'Cast' })
  const guest = await register(client)
  for (const id of [projects[0], projects[2]]) await invite(ada, id, guest)
  const [arrived] = await sql<{ id: string }[]>`
    select id from events where project_id = ${projects[1]} and type = 'task.moved_in'`
  await sql`
    insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, before, after, task_id)
    select project_id, 100 + n, (left(${arrived!.id}::text, 24) || lpad(to_hex(n), 12, 'f'))::uuid, 'task.updated',
      entity, entity_id, actor_id, at, before, after, task_id
    from events, generate_series(1, 1200) n where project_id = ${projects[1]} and type = 'task.moved_in'`
  const pages = (await allPages(guest, taskPath(task.id))) as unknown as FeedEvent[][]
  const types = words('task.updated task.moved_in task.moved_out comment.created task.created')
  expect([pages.length, pages.flat().map(({ type }) => type)]).toEqual([25, types])
  await ada.delete(`/projects/${projects[2]}`)
  await sql`delete from tasks where id = ${task.id}`
  await sql`delete from events where project_id = ${projects[2]}`
  expect((await ada.get(taskPath(task.id))).status).toBe(404)
})
