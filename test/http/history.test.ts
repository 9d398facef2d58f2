import { expect, test } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '../../src/ids.ts'
import { upTo } from '../races/pair.ts'
import { invite, make, register } from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { statusAndMessage } from './responses.ts'
import { type FeedEvent, readFeed } from './feed.ts'
import { createHistory } from './history-scene.ts'
import { nextPath, allPages } from './list-pages.ts'

const { client, sql, ada, grace } = await openScene(['Ada', 'Grace'], { HISTORY_DAYS: '30' })

const openProject = async () => (await make(ada, '/projects', { name: 'Engine' })).id
const historyOf = (projectId: string, query = '') => `/projects/${projectId}/history${query}`
const read = (projectId: string, query = '') => readFeed(ada, historyOf(projectId, query))
const seqsOf = async (projectId: string, query = '') => (await read(projectId, query)).map(({ seq }) => seq)
const down = (from: number, to: number) =>
  upTo(from)
    .slice(to - 1)
    .reverse()

test("a project's history is its feed, newest first, page by page", async () => {
  const { projectId } = await createHistory(ada, grace)
  const feed = await readFeed(ada, `/projects/${projectId}/events`)
  expect(await read(projectId)).toEqual(feed.toReversed())
  const first = await ada.get(historyOf(projectId, '?limit=3'))
  expect((first.body as unknown as FeedEvent[]).map(({ seq }) => seq)).toEqual([8, 7, 6])
  expect(first.headers.get('docket-version')).toBe('8')
  await make(ada, '/tasks', { title: 'Meanwhile', projectId })
  expect(await readFeed(ada, nextPath(first.headers)!)).toEqual(feed.slice(0, 5).toReversed())
  expect((await ada.get(historyOf(projectId, '?limit=9'))).headers.get('link')).toBeNull()
})

test('only what is asked for is shown', async () => {
  const { projectId, task, subtask, member } = await createHistory(ada, grace)
  const wanted: Record<string, number[]> = {
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
  for (const [query, seqs] of Object.entries(wanted))
    expect([query, await seqsOf(projectId, `?${query}`)]).toEqual([query, seqs])
})

test('a stretch of time is found, both its ends within it', async () => {
  const projectId = await openProject()
  const at = [(await read(projectId))[0]!.at]
  for (const n of upTo(9)) {
    await sleep(2) // so that no two have the same time
    await make(ada, '/tasks', { title: `T${n}`, projectId })
    at.push((await read(projectId, '?limit=1'))[0]!.at)
  }
  const stretches = ['09', '36', '55', '99', '00', '63'].map((one) => [...one].map(Number))
  for (const [from, to] of stretches as [number, number][])
    expect(await seqsOf(projectId, `?from=${at[from]}&to=${at[to]}&limit=2`)).toEqual(down(to + 1, from + 1))
  expect(await seqsOf(projectId, `?from=${at[7]}`)).toEqual([10, 9, 8])
  expect(await seqsOf(projectId, `?to=${at[1]!.replace('Z', '%2B00:00')}`)).toEqual([2, 1])
  for (const none of ['?from=2999-01-01', '?to=2000-01-01']) expect(await seqsOf(projectId, none)).toEqual([])
  expect(await seqsOf(projectId, '?from=0001-01-01&to=9999-12-31')).toHaveLength(10)
})

test('events whose time is still to come do not hide those around them from a stretch of time', async () => {
  const projectId = await openProject()
  for (const n of upTo(15)) await make(ada, '/tasks', { title: `T${n}`, projectId })
  const ahead = ['1-1', '8-8', '9-9', '16-16', '3-10', '1-15', '12-16'].map((one) =>
    one.split('-').map(Number),
  )
  for (const [first, last] of ahead as [number, number][]) {
    const rows = await sql<{ seq: number; at: string }[]>`
      update events set at = now() + (seq - 20) * interval '1 minute' + case
        when seq between ${first} and ${last} then interval '1 year' else interval '0' end
      where project_id = ${projectId} returning seq::float8 as seq, at`
    const at = new Map(rows.map((event) => [event.seq, encodeURIComponent(event.at)]))
    const known = down(16, 1).filter((seq) => seq < first || seq > last)
    for (const [n, seq] of known.entries()) {
      expect(await seqsOf(projectId, `?to=${at.get(seq)}`)).toEqual(down(seq, 1))
      expect(await seqsOf(projectId, `?from=${at.get(seq)}`)).toEqual(down(16, (known[n + 1] ?? 0) + 1))
    }
  }
})

test('what cannot be is refused', async () => {
  const { projectId, task } = await createHistory(ada, grace)
  const stranger = await register(client)
  const wrong: Record<string, string> = {
    'entity=tasks': 'entity must be project, member, task',
    'actor=me': 'actor must be the id of the user who did it',
    'type=task.exploded': 'type must be event types with commas between',
    'from=yesterday': 'from must be an ISO 8601 date-time',
    'to=2027-02-30': 'to must be an ISO 8601 date-time',
    'cursor=WyJ4Il0': 'cursor must be one that this list gave',
    'types=task.created': 'types is not known here; did you mean type?',
  }
  for (const [query, message] of Object.entries(wrong))
    expect(await statusAndMessage(ada, historyOf(projectId, `?${query}`))).toStartWith(`400 ${message}`)
  expect(await statusAndMessage(ada, `/tasks/${task.id}/history?cursor=WyI3Il0`)).toStartWith('400 cursor')
  for (const id of [projectId, 'none', newId()])
    expect(await statusAndMessage(stranger, historyOf(id))).toBe('404 Project not found')
  for (const id of [task.id, newId(), 'none', projectId])
    expect(await statusAndMessage(stranger, `/tasks/${id}/history`)).toBe('404 Task not found')
  await ada.delete(`/projects/${projectId}`)
  expect(await statusAndMessage(ada, historyOf(projectId))).toBe('404 Project not found')
  for (const id of [task.id, newId()])
    expect(await statusAndMessage(ada, `/tasks/${id}/history`)).toBe('404 Task not found')
})

test('a history is not sent again to who has it, and names are those of now', async () => {
  const hopper = await register(client, 'Hopper')
  const { projectId, task } = await createHistory(ada, grace)
  await invite(ada, projectId, hopper, 'EDITOR')
  await make(hopper, `/tasks/${task.id}/comments`, { text: 'Mine' })
  for (const path of [historyOf(projectId), `/tasks/${task.id}/history`]) {
    const { headers, body } = await ada.get(path)
    expect(body[0]).toMatchObject({ actor: { id: hopper.id } })
    const known = { 'if-none-match': headers.get('etag')! }
    const again = await ada.get(path, known)
    expect([again.status, again.headers.get('docket-version')]).toEqual([304, headers.get('docket-version')])
    const name = `Admiral ${path}`
    await hopper.patch('/auth/me', { name })
    const renamed = await ada.get(path, known)
    expect([renamed.status, renamed.body[0] as object]).toMatchObject([200, { actor: { name } }])
  }
})

test('where events are no longer kept, a history begins with the oldest that is there', async () => {
  const { projectId, task } = await createHistory(ada, grace)
  const paths = [historyOf(projectId), `/tasks/${task.id}/history`]
  const had = await Promise.all(paths.map((path) => ada.get(path)))
  await sql`delete from events where project_id = ${projectId} and seq < 6`
  const known = had.map(({ headers }) => ({ 'if-none-match': headers.get('etag')! }))
  const now = await Promise.all(paths.map((path, i) => ada.get(path, known[i])))
  const seqs = now.map(({ body }) => (body as unknown as FeedEvent[] | null)?.map(({ seq }) => seq))
  expect(seqs).toEqual([down(8, 6), down(7, 6)])
  expect(await seqsOf(projectId, '?type=project.updated,project.created')).toEqual([8])
  expect(await seqsOf(projectId, '?to=2000-01-01')).toEqual([])
  const links = await Promise.all([2, 3].map((limit) => ada.get(`${paths[0]}?limit=${limit}`)))
  expect(links.map(({ headers }) => headers.has('link'))).toEqual([true, false])
  await sql`delete from events where project_id = ${projectId} and seq < 8`
  expect((await ada.get(paths[1]!)).text).toBe('[]')
})

test('a page looks at so many events, and leads on when it shows few', async () => {
  const { projectId, task } = await createHistory(ada, grace)
  await sql`
    insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, before, after)
    select project_id, n, uuidv7(), type, entity, entity_id, actor_id, at, before, after
    from events, generate_series(9, 25000) n where project_id = ${projectId} and seq = 8`
  await sql`update streams set version = 25000 where project_id = ${projectId}`
  const pages = (await allPages(ada, historyOf(projectId, '?entity=task'))) as unknown as FeedEvent[][]
  expect([pages.length, pages.flat().map(({ seq }) => seq)]).toEqual([3, [4, 3]])
  expect(await seqsOf(projectId, `?entity=${task.id}`)).toEqual([4, 3])
})
