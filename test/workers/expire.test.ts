import { eventually, expireEvents, type FeedEvent, forFile, make, makeProjects, makeTasks } from '../kit.ts'
import { newId, nextPath, openScene, openTestService, readFeed, SliceEnded } from '../kit.ts'
import { unreachableUrl, upTo } from '../kit.ts'
import { countDeletes } from './remains.ts'

const { service, ada, sql } = await openScene(['Ada'], {})
const days = 30
const expire = (more = {}) => expireEvents(sql, days, { batchRows: 10, pauseMs: 0, ...more })

/** Creates a project with `count` events, of which the first `old` have expired. */
async function openProject(count: number, old: number): Promise<string> {
  const [projectId = ''] = await makeProjects(ada, 1)
  if (count > 1) await makeTasks(ada, projectId, count - 1)
  await sql`update events set at = at - interval '31 days' where project_id = ${projectId} and seq <= ${old}`
  return projectId
}

async function seqsOf(projectId: string): Promise<number[]> {
  const rows = await sql<{ seq: number }[]>`
    select seq::float8 as seq from events where project_id = ${projectId} order by events.seq`
  return rows.map(({ seq }) => seq)
}
const from = (first: number, last: number) => upTo(last).slice(first - 1)

/** The number of events, of old events, the events with a time in the future, and the first event that remains. */
const projects: [count: number, old: number, ahead: [from: number, to: number] | [], first: number][] = [
  [50, 33, [], 34],
  [50, 0, [], 1],
  [50, 50, [], 50],
  [1, 1, [], 1],
  [20, 10, [], 11],
  [21, 20, [], 21],
  [50, 33, [5, 5], 34],
  [50, 33, [1, 1], 34],
  [50, 33, [5, 32], 34],
  // Event 41 has not expired, so events 30 to 40 have not expired either.
  [50, 33, [30, 40], 30],
  [50, 33, [33, 33], 33],
  [50, 50, [50, 50], 50],
  [50, 40, [41, 50], 41],
]

test('deletes expired events, oldest first, and keeps the newest of each project; an event with a time in the future expires with the next event', async () => {
  const ids: string[] = []
  for (const [count, old, [from = 0, to = 0]] of projects) {
    const id = await openProject(count, old)
    await sql`update events set at = now() + interval '1 year' where project_id = ${id} and seq between ${from} and ${to}`
    ids.push(id)
  }
  for (const _ of ['once', 'again']) {
    expect(await expire()).toBeUndefined()
    expect(await Promise.all(ids.map(seqsOf))).toEqual(
      projects.map(([count, , , first]) => from(first, count)),
    )
  }
  await make(ada, '/tasks', { title: 'After', projectId: ids[2]! })
  expect((await readFeed(ada, `/projects/${ids[2]}/events?after=49`)).map(({ seq }) => seq)).toEqual([50, 51])
  expect((await ada.get(`/tasks?projectId=${ids[2]}&limit=200`)).body).toHaveLength(50)
})

test('concurrent and interrupted workers delete the same events as one worker, at most a batch in a statement', async () => {
  const deletes = await countDeletes(sql, 'events')
  const interrupted = await openProject(50, 45)
  await expect(expire({ isOver: () => true })).rejects.toBeInstanceOf(SliceEnded)
  expect(await seqsOf(interrupted)).toEqual(from(11, 50))
  const ids = [await openProject(100, 95), await openProject(100, 90)]
  await Promise.all([expire(), expire({ batchRows: 7 }), expire({ batchRows: 3 })])
  await expire()
  expect(await Promise.all([interrupted, ...ids].map(seqsOf))).toEqual([
    from(46, 50),
    from(96, 100),
    from(91, 100),
  ])
  expect(Math.max(...(await deletes()))).toBe(10)
})

/** Reads pages until the end, or until a page gets 410. */
async function pageThrough(path: string): Promise<number[]> {
  const seqs: number[] = []
  for (let next: string | undefined = path; next;) {
    const { status, body, headers, text } = await ada.get(next)
    if (status === 410) {
      expect(text).toContain('are no longer kept')
      break
    }
    seqs.push(...(body as unknown as FeedEvent[]).map(({ seq }) => seq))
    next = nextPath(headers)
  }
  return seqs
}

const newest = 250

test('pages that are read while events expire have no gap until a page gets 410', async () => {
  const projectId = await openProject(newest, newest - 20)
  let isOver = false
  const feeds: number[][] = []
  const histories: number[][] = []
  const read = async (n: number) => {
    while (!isOver) {
      const after = (await seqsOf(projectId))[0]! - 1 + (n % 3)
      const path = `/projects/${projectId}/events?after=${after}&limit=${5 + n}`
      feeds.push([after, ...(await pageThrough(path))])
      histories.push(await pageThrough(`/projects/${projectId}/history?limit=${20 + n}`))
    }
  }
  const removeThree = () =>
    expire({ batchRows: 3, isOver: () => true }).then(
      () => false,
      (error) => error instanceof SliceEnded || Promise.reject(error),
    )
  const removal = async () => {
    try {
      for (let n = 1; await removeThree(); n++) await eventually('a read', () => feeds.length >= n)
      await eventually('a read without 410', () => feeds.some((seqs) => seqs.at(-1) === newest))
    } finally {
      isOver = true
    }
  }
  await Promise.all([...upTo(6).map(read), removal()])
  for (const seqs of feeds) expect(seqs).toEqual(seqs.map((_, i) => seqs[0]! + i))
  for (const seqs of histories) expect(seqs).toEqual(seqs.map((_, i) => newest - i))
  expect(feeds.length).toBeGreaterThan(20)
})

const deliver = (webhookId: string, daysAgo: number) => sql`
  insert into webhook_deliveries (webhook_id, id, delivery_id, type, events, attempt, answer, at, duration_ms)
  select ${webhookId}, (lpad(to_hex(floor(extract(epoch from now() - ${daysAgo}::int4 * interval '1 day') * 1000)::bigint), 12, '0')
    || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid, gen_random_uuid(), 'test', 0, 1, 'x', now(), 1
  from generate_series(1, 20)`

// This must be the last test, because the workers keep running.
test('workers delete deliveries after 30 days or with their webhook, and delete no event without HISTORY_DAYS', async () => {
  const projectId = await openProject(20, 20)
  const hook = async () =>
    (await make(ada, `/projects/${projectId}/webhooks`, { url: unreachableUrl, enabled: false })).id
  const [fresh, old, mixed, deleted] = [await hook(), await hook(), await hook(), newId()]
  for (const [id, daysAgo] of [
    [fresh, 29],
    [old, 31],
    [mixed, 31],
    [mixed, 1],
    [deleted, 1],
  ] as const)
    await deliver(id, daysAgo)
  const deletes = await countDeletes(sql, 'webhook_deliveries')
  const worker = await forFile(openTestService({ ...service.env, JOB_BATCH_ROWS: '7' }))
  worker.startWorkers()
  const counts = async () => {
    const rows = await sql<{ id: string; n: number }[]>`
      select webhook_id as id, count(*)::int4 as n from webhook_deliveries group by 1`
    return Object.fromEntries(rows.map(({ id, n }) => [id, n]))
  }
  await eventually('the deletions', async () => Object.keys(await counts()).length === 2)
  await eventually('the end of the step', async () => (await deletes()).length >= 9)
  expect(await counts()).toEqual({ [fresh]: 20, [mixed]: 20 })
  expect(Math.max(...(await deletes()))).toBe(7)
  expect(await seqsOf(projectId)).toHaveLength(23)
})
