import { setTimeout as sleep } from 'node:timers/promises'
import { allPages, invite, make, newId, nextPath, openScene, readFeed, register } from '../kit.ts'
import { statusAndMessage, upTo } from '../kit.ts'
import type { FeedEvent } from '../kit.ts'
import { createHistory } from './history-scene.ts'

const { client, sql, ada, grace } = await openScene(['Ada', 'Grace'], { HISTORY_DAYS: '30' })

const createProject = async () => (await make(ada, '/projects', { name: 'Engine' })).id
const historyPath = (projectId: string, query = '') => `/projects/${projectId}/history${query}`
const read = (projectId: string, query = '') => readFeed(ada, historyPath(projectId, query))
const seqsOf = async (projectId: string, query = '') => (await read(projectId, query)).map(({ seq }) => seq)
const seqsIn = (body: unknown) => (body as FeedEvent[]).map(({ seq }) => seq)
const countDown = (from: number, to: number) =>
  upTo(from)
    .slice(to - 1)
    .reverse()

test("a project's history is its feed in reverse, page by page", async () => {
  const { projectId } = await createHistory(ada, grace)
  const feed = await readFeed(ada, `/projects/${projectId}/events`)
  expect(await read(projectId)).toEqual(feed.toReversed())
  const first = await ada.get(historyPath(projectId, '?limit=3'))
  expect(seqsIn(first.body)).toEqual([8, 7, 6])
  expect(first.headers.get('docket-version')).toBe('8')
  await make(ada, '/tasks', { title: 'Meanwhile', projectId })
  expect(await readFeed(ada, nextPath(first.headers)!)).toEqual(feed.slice(0, 5).toReversed())
  expect((await ada.get(historyPath(projectId, '?limit=9'))).headers.get('link')).toBeNull()
})

test('the parameters entity, actor and type select events', async () => {
  const { projectId, task, subtask, member } = await createHistory(ada, grace)
  const selected: Record<string, number[]> = {
    'entity=task': [4, 3],
    'entity=comment&limit=1': [7],
    [`entity=${task.id.toUpperCase()}`]: [4, 3],
    [`entity=${subtask.id}`]: [6, 5],
    [`entity=${member.id}`]: [2],
    [`actor=${grace.id}`]: [7, 6, 4],
    [`actor=${newId()}`]: [],
    'type=task.created,project.updated': [8, 3],
    [`type=task.updated,comment.created&actor=${grace.id}&entity=task`]: [4],
  }
  for (const [query, seqs] of Object.entries(selected))
    expect([query, await seqsOf(projectId, `?${query}`)]).toEqual([query, seqs])
})

test('the parameters from and to select a period and include both bounds', async () => {
  const projectId = await createProject()
  const at = [(await read(projectId))[0]!.at]
  for (const n of upTo(9)) {
    // The times of events must differ.
    await sleep(2)
    await make(ada, '/tasks', { title: `T${n}`, projectId })
    at.push((await read(projectId, '?limit=1'))[0]!.at)
  }
  for (const period of ['09', '36', '55', '99', '00', '63']) {
    const [from, to] = [...period].map(Number) as [number, number]
    const query = `?from=${at[from]}&to=${at[to]}&limit=2`
    expect(await seqsOf(projectId, query)).toEqual(countDown(to + 1, from + 1))
  }
  expect(await seqsOf(projectId, `?from=${at[7]}`)).toEqual([10, 9, 8])
  expect(await seqsOf(projectId, `?to=${at[1]!.replace('Z', '%2B00:00')}`)).toEqual([2, 1])
  for (const none of ['?from=2999-01-01', '?to=2000-01-01']) expect(await seqsOf(projectId, none)).toEqual([])
  expect(await seqsOf(projectId, '?from=0001-01-01&to=9999-12-31')).toHaveLength(10)
})

test('the parameters from and to find other events also if the log contains events from the future', async () => {
  const projectId = await createProject()
  for (const n of upTo(15)) await make(ada, '/tasks', { title: `T${n}`, projectId })
  for (const range of ['1-1', '8-8', '9-9', '16-16', '3-10', '1-15', '12-16']) {
    const [first, last] = range.split('-').map(Number) as [number, number]
    const rows = await sql<{ seq: number; at: string }[]>`
      update events set at = now() + (seq - 20) * interval '1 minute' + case
        when seq between ${first} and ${last} then interval '1 year' else interval '0' end
      where project_id = ${projectId} returning seq::float8 as seq, at`
    const at = new Map(rows.map((event) => [event.seq, encodeURIComponent(event.at)]))
    const inPast = countDown(16, 1).filter((seq) => seq < first || seq > last)
    for (const [n, seq] of inPast.entries()) {
      expect(await seqsOf(projectId, `?to=${at.get(seq)}`)).toEqual(countDown(seq, 1))
      const earliest = (inPast[n + 1] ?? 0) + 1
      expect(await seqsOf(projectId, `?from=${at.get(seq)}`)).toEqual(countDown(16, earliest))
    }
  }
})

test('rejects invalid parameters with 400, and strangers and unknown ids with 404', async () => {
  const { projectId, task } = await createHistory(ada, grace)
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
  const taskHistory = (id: string, query = '') => `/tasks/${id}/history${query}`
  expect(await statusAndMessage(ada, taskHistory(task.id, '?cursor=WyI3Il0'))).toStartWith('400 cursor')
  for (const id of [projectId, 'none', newId()])
    expect(await statusAndMessage(stranger, historyPath(id))).toBe('404 Project not found')
  for (const id of [task.id, newId(), 'none', projectId])
    expect(await statusAndMessage(stranger, taskHistory(id))).toBe('404 Task not found')
  await ada.delete(`/projects/${projectId}`)
  expect(await statusAndMessage(ada, historyPath(projectId))).toBe('404 Project not found')
  for (const id of [task.id, newId()])
    expect(await statusAndMessage(ada, taskHistory(id))).toBe('404 Task not found')
})

test("an unchanged feed or history gets 304 until an actor's name changes; a deleted account has no name", async () => {
  const hopper = await register(client, 'Hopper')
  const { projectId, task } = await createHistory(ada, grace)
  await invite(ada, projectId, hopper, 'EDITOR')
  await make(hopper, `/tasks/${task.id}/comments`, { text: 'Mine' })
  const feed = `/projects/${projectId}/events?after=9`
  for (const path of [historyPath(projectId), `/tasks/${task.id}/history`, feed]) {
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
  const { projectId, task } = await createHistory(ada, grace)
  const paths = [historyPath(projectId), `/tasks/${task.id}/history`]
  const tags = await Promise.all(paths.map(async (path) => (await ada.get(path)).headers.get('etag')!))
  await sql`delete from events where project_id = ${projectId} and seq < 6`
  const now = await Promise.all(paths.map((path, i) => ada.get(path, { 'if-none-match': tags[i]! })))
  expect(now.map(({ body }) => seqsIn(body))).toEqual([countDown(8, 6), countDown(7, 6)])
  expect(await seqsOf(projectId, '?type=project.updated,project.created')).toEqual([8])
  expect(await seqsOf(projectId, '?to=2000-01-01')).toEqual([])
  for (const limit of [2, 3])
    expect((await ada.get(`${paths[0]}?limit=${limit}`)).headers.has('link')).toBe(limit === 2)
  await sql`delete from events where project_id = ${projectId} and seq < 8`
  expect((await ada.get(paths[1]!)).text).toBe('[]')
})

test('a page reads a limited number of events, and links to the next page even if it shows few events', async () => {
  const { projectId, task } = await createHistory(ada, grace)
  await sql`
    insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, before, after)
    select project_id, n, uuidv7(), type, entity, entity_id, actor_id, at, before, after
    from events, generate_series(9, 25000) n where project_id = ${projectId} and seq = 8`
  await sql`update streams set version = 25000 where project_id = ${projectId}`
  const pages = await allPages(ada, historyPath(projectId, '?entity=task'))
  expect([pages.length, seqsIn(pages.flat())]).toEqual([3, [4, 3]])
  expect(await seqsOf(projectId, `?entity=${task.id}`)).toEqual([4, 3])
})
