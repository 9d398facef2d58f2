import { expect, test } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '../../src/ids.ts'
import { type Body, invite, make, register } from '../support/client.ts'
import { said } from './answers.ts'
import { type FeedEvent, readFeed } from './feed.ts'
import { furnish } from './history-scene.ts'
import { nextOf } from './walk.ts'
import { openScene } from '../support/scene.ts'

const { client, sql, ada, grace } = await openScene(['Ada', 'Grace'], { HISTORY_DAYS: '30' })

const openProject = async () => (await make(ada, '/projects', { name: 'Engine' })).id
const historyOf = (projectId: string, query = '') => `/projects/${projectId}/history${query}`
const read = (projectId: string, query = '') => readFeed(ada, historyOf(projectId, query))
const seqsOf = async (projectId: string, query = '') => (await read(projectId, query)).map(({ seq }) => seq)

test("a project's history is its feed, newest first, page by page", async () => {
  const { projectId } = await furnish(ada, grace)
  const feed = await readFeed(ada, `/projects/${projectId}/events`)
  expect(await read(projectId)).toEqual(feed.toReversed())
  const first = await ada.get(historyOf(projectId, '?limit=3'))
  expect((first.body as unknown as FeedEvent[]).map(({ seq }) => seq)).toEqual([8, 7, 6])
  expect(first.headers.get('docket-version')).toBe('8')
  await make(ada, '/tasks', { title: 'Meanwhile', projectId })
  expect(await readFeed(ada, nextOf(first.headers)!)).toEqual(feed.slice(0, 5).toReversed())
  const last = await ada.get(historyOf(projectId, '?limit=9'))
  expect(last.headers.get('link')).toBeNull()
})

test('only what is asked for is shown', async () => {
  const { projectId, task, subtask, member } = await furnish(ada, grace)
  expect(await seqsOf(projectId, '?entity=task')).toEqual([4, 3])
  expect(await seqsOf(projectId, '?entity=comment&limit=1')).toEqual([7])
  expect(await seqsOf(projectId, `?entity=${task.id.toUpperCase()}`)).toEqual([4, 3])
  expect(await seqsOf(projectId, `?entity=${subtask.id}`)).toEqual([6, 5])
  expect(await seqsOf(projectId, `?entity=${member.id}`)).toEqual([2])
  expect(await seqsOf(projectId, `?actor=${grace.id}`)).toEqual([7, 6, 4])
  expect(await seqsOf(projectId, `?actor=${newId()}`)).toEqual([])
  expect(await seqsOf(projectId, '?type=task.created,project.updated')).toEqual([8, 3])
  expect(await seqsOf(projectId, `?type=task.updated,comment.created&actor=${grace.id}&entity=task`)).toEqual(
    [4],
  )
})

test('a stretch of time is found, both its ends within it', async () => {
  const projectId = await openProject()
  const at = [(await read(projectId))[0]!.at]
  for (let i = 0; i < 9; i++) {
    await sleep(2) // so that no two have the same time
    await make(ada, '/tasks', { title: `T${i}`, projectId })
    at.push((await read(projectId, '?limit=1'))[0]!.at)
  }
  for (const [from, to] of [
    [0, 9],
    [3, 6],
    [5, 5],
    [9, 9],
    [0, 0],
    [6, 3],
  ] as const) {
    const between = Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => to + 1 - i)
    expect(await seqsOf(projectId, `?from=${at[from]}&to=${at[to]}&limit=2`)).toEqual(between)
  }
  expect(await seqsOf(projectId, `?from=${at[7]}`)).toEqual([10, 9, 8])
  expect(await seqsOf(projectId, `?to=${at[1]!.replace('Z', '%2B00:00')}`)).toEqual([2, 1])
  expect(await seqsOf(projectId, '?from=2999-01-01')).toEqual([])
  expect(await seqsOf(projectId, '?to=2000-01-01')).toEqual([])
  expect(await seqsOf(projectId, '?from=0001-01-01&to=9999-12-31')).toHaveLength(10)
})

test('events whose time is still to come do not hide those around them from a stretch of time', async () => {
  const projectId = await openProject()
  for (let n = 2; n <= 16; n++) await make(ada, '/tasks', { title: `T${n}`, projectId })
  const between = (to: number, from: number) => Array.from({ length: to - from + 1 }, (_, i) => to - i)
  for (const [first, last] of [
    ...[
      [1, 1],
      [8, 8],
      [9, 9],
      [16, 16],
    ],
    ...[
      [3, 10],
      [1, 15],
      [12, 16],
    ],
  ] as [number, number][]) {
    const isAhead = (seq: number) => seq >= first && seq <= last
    const rows = await sql<{ seq: number; at: string }[]>`
      update events set at = now() + (seq - 20) * interval '1 minute' + case
        when seq between ${first} and ${last} then interval '1 year' else interval '0' end
      where project_id = ${projectId} returning seq::float8 as seq, at`
    const at = new Map(rows.map((event) => [event.seq, encodeURIComponent(event.at)]))
    const known = between(16, 1).filter((seq) => !isAhead(seq))
    for (const [n, seq] of known.entries()) {
      expect(await seqsOf(projectId, `?to=${at.get(seq)}`)).toEqual(between(seq, 1))
      expect(await seqsOf(projectId, `?from=${at.get(seq)}`)).toEqual(between(16, (known[n + 1] ?? 0) + 1))
    }
  }
})

test('what cannot be is refused', async () => {
  const { projectId, task } = await furnish(ada, grace)
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
    expect(await said(ada, historyOf(projectId, `?${query}`))).toStartWith(`400 ${message}`)
  expect(await said(ada, `/tasks/${task.id}/history?cursor=WyI3Il0`)).toStartWith('400 cursor')
  for (const path of [historyOf(projectId), historyOf('none'), historyOf(newId())])
    expect(await said(stranger, path)).toBe('404 Project not found')
  for (const id of [task.id, newId(), 'none', projectId])
    expect(await said(stranger, `/tasks/${id}/history`)).toBe('404 Task not found')
  expect(await said(ada, `/tasks/${newId()}/history`)).toBe('404 Task not found')
  await ada.delete(`/projects/${projectId}`)
  expect(await said(ada, historyOf(projectId))).toBe('404 Project not found')
  expect(await said(ada, `/tasks/${task.id}/history`)).toBe('404 Task not found')
})

test('a history is not sent again to who has it, and names are those of now', async () => {
  const hopper = await register(client, 'Hopper')
  const { projectId, task } = await furnish(ada, grace)
  await invite(ada, projectId, hopper, 'EDITOR')
  await make(hopper, `/tasks/${task.id}/comments`, { text: 'Mine' })
  for (const path of [historyOf(projectId), `/tasks/${task.id}/history`]) {
    const { headers, body } = await ada.get(path)
    expect(body[0]).toMatchObject({ actor: { id: hopper.id } })
    const known = { 'if-none-match': headers.get('etag')! }
    const again = await ada.get(path, known)
    expect([again.status, again.headers.get('docket-version')]).toEqual([304, headers.get('docket-version')])
    await hopper.patch('/auth/me', { name: `Admiral ${path}` })
    const renamed = await ada.get(path, known)
    expect([renamed.status, renamed.body[0] as object]).toMatchObject([
      200,
      { actor: { name: `Admiral ${path}` } },
    ])
  }
})

test('where events are no longer kept, a history begins with the oldest that is there', async () => {
  const { projectId, task } = await furnish(ada, grace)
  const paths = [historyOf(projectId), `/tasks/${task.id}/history`]
  const had = await Promise.all(paths.map((path) => ada.get(path)))
  await sql`delete from events where project_id = ${projectId} and seq < 6`
  const known = had.map(({ headers }) => ({ 'if-none-match': headers.get('etag')! }))
  const now = await Promise.all(paths.map((path, i) => ada.get(path, known[i])))
  expect(now.map(({ body }) => (body as unknown as FeedEvent[] | null)?.map(({ seq }) => seq))).toEqual([
    [8, 7, 6],
    [7, 6],
  ])
  expect(await seqsOf(projectId, '?type=project.updated,project.created')).toEqual([8])
  expect(await seqsOf(projectId, '?to=2000-01-01')).toEqual([])
  const links = await Promise.all([2, 3].map((limit) => ada.get(`${paths[0]}?limit=${limit}`)))
  expect(links.map(({ headers }) => headers.has('link'))).toEqual([true, false])
  await sql`delete from events where project_id = ${projectId} and seq < 8`
  expect((await ada.get(paths[1]!)).text).toBe('[]')
})

test('a page looks at so many events, and leads on when it shows few', async () => {
  const { projectId, task } = await furnish(ada, grace)
  await sql`
    insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, before, after)
    select project_id, n, uuidv7(), type, entity, entity_id, actor_id, at, before, after
    from events, generate_series(9, 25000) n where project_id = ${projectId} and seq = 8`
  await sql`update streams set version = 25000 where project_id = ${projectId}`
  let pages = 0
  const shown: FeedEvent[] = []
  for (let next: string | undefined = historyOf(projectId, '?entity=task'); next; pages++) {
    const { body, headers }: { body: Body; headers: Headers } = await ada.get(next)
    shown.push(...(body as unknown as FeedEvent[]))
    next = nextOf(headers)
  }
  expect([pages, shown.map(({ seq }) => seq)]).toEqual([3, [4, 3]])
  expect(await seqsOf(projectId, `?entity=${task.id}`)).toEqual([4, 3])
})
