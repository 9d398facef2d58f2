import { eventually, expireEvents, forFile, make, nextPath, openScene, openTestService } from '../kit.ts'
import { readFeed, register, SliceEnded, spawnService, upTo } from '../kit.ts'
import type { FeedEvent } from '../kit.ts'
import { countDeletes } from './remains.ts'

let { service, ada } = await openScene(['Ada'])
const sql = () => service.services.database.background

const days = 30
const throttle = { batchRows: 10, pauseMs: 0 }
const expire = (more = {}) => expireEvents(sql(), days, { ...throttle, ...more })

async function openProject(count: number, old: number): Promise<string> {
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const operations = Array.from({ length: count - 1 }, (_, i) => ({ op: 'task.create', title: `T${i}` }))
  if (count > 1) await ada.post(`/projects/${projectId}/batch`, { operations })
  await sql()`update events set at = at - interval '31 days' where project_id = ${projectId} and seq <= ${old}`
  return projectId
}

async function seqsOf(projectId: string): Promise<number[]> {
  const rows = await sql()<{ seq: number }[]>`
    select seq::float8 as seq from events where project_id = ${projectId} order by seq`
  return rows.map(({ seq }) => seq)
}
const from = (first: number, last: number) => upTo(last).slice(first - 1)

test('deletes expired events, oldest first, and keeps the newest event of each project', async () => {
  const wanted = [
    [50, 33],
    [50, 0],
    [50, 50],
    [1, 1],
    [20, 10],
    [21, 20],
    [2, 1],
  ] as const
  const ids = []
  for (const [count, old] of wanted) ids.push(await openProject(count, old))
  for (const _ of ['once', 'again']) {
    expect(await expire()).toBeUndefined()
    const seqs = await Promise.all(ids.map(seqsOf))
    expect(seqs).toEqual(wanted.map(([count, old]) => from(Math.min(old + 1, count), count)))
  }
  await make(ada, '/tasks', { title: 'After', projectId: ids[2]! })
  expect((await readFeed(ada, `/projects/${ids[2]}/events?after=49`)).map(({ seq }) => seq)).toEqual([50, 51])
  expect((await ada.get(`/tasks?projectId=${ids[2]}&limit=200`)).body).toHaveLength(50)
})

test('an event with a time in the future expires together with the next event', async () => {
  const ahead: [count: number, old: number, from: number, to: number, seqs: number][] = [
    [50, 33, 5, 5, 34],
    [50, 33, 1, 1, 34],
    [50, 33, 5, 32, 34],
    // Event 41 has not expired, so events 30 to 40 have not expired either.
    [50, 33, 30, 40, 30],
    [50, 33, 33, 33, 33],
    [50, 0, 1, 10, 1],
    [50, 50, 50, 50, 50],
    [50, 40, 41, 50, 41],
  ]
  const ids = []
  for (const [count, old, from, to] of ahead) {
    const id = await openProject(count, old)
    await sql()`update events set at = now() + interval '1 year'
      where project_id = ${id} and seq between ${from} and ${to}`
    ids.push(id)
  }
  for (const _ of ['once', 'again']) {
    expect(await expire()).toBeUndefined()
    const seqs = await Promise.all(ids.map(seqsOf))
    expect(seqs).toEqual(ahead.map(([count, , , , first]) => from(first, count)))
  }
})

test('no statement deletes more rows than the batch size', async () => {
  const deletes = await countDeletes(sql(), 'events')
  await openProject(98, 95)
  await expire()
  expect(await deletes()).toEqual([...Array(9).fill(10), 5])
})

test('a later run deletes the expired events that an earlier run left', async () => {
  const projectId = await openProject(50, 45)
  await expect(expire({ isOver: () => true })).rejects.toBeInstanceOf(SliceEnded)
  expect(await seqsOf(projectId)).toEqual(from(11, 50))
  await expire()
  expect(await seqsOf(projectId)).toEqual(from(46, 50))
})

test('concurrent workers delete the same events as one worker', async () => {
  const ids = [await openProject(100, 95), await openProject(100, 90)]
  await Promise.all([expire(), expire({ batchRows: 7 }), expire({ batchRows: 3 })])
  await expire()
  expect(await Promise.all(ids.map(seqsOf))).toEqual([from(96, 100), from(91, 100)])
})

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
      const [oldest] = await seqsOf(projectId)
      const after = oldest! - 1 + (n % 3)
      const seqs = await pageThrough(`/projects/${projectId}/events?after=${after}&limit=${5 + n}`)
      feeds.push([after, ...seqs])
      histories.push(await pageThrough(`/projects/${projectId}/history?limit=${20 + n}`))
    }
  }
  const removeThree = () =>
    expire({ batchRows: 3, isOver: () => true }).then(
      () => false,
      (error) => error instanceof SliceEnded || Promise.reject(error),
    )
  const isComplete = () => feeds.some((seqs) => seqs.at(-1) === newest)
  const removal = async () => {
    try {
      for (let n = 1; await removeThree(); n++) await eventually('a read', () => feeds.length >= n)
      await eventually('a read without 410', isComplete)
    } finally {
      isOver = true
    }
  }
  await Promise.all([...upTo(6).map(read), removal()])
  for (const seqs of feeds) expect(seqs).toEqual(seqs.map((_, i) => seqs[0]! + i))
  for (const seqs of histories) expect(seqs).toEqual(seqs.map((_, i) => newest - i))
  expect(feeds.length).toBeGreaterThan(20)
})

test('deletes no event without HISTORY_DAYS', async () => {
  const projectId = await openProject(20, 20)
  const recurring = service.services.jobs.open('recurring')
  service.startWorkers()
  await eventually('delayed steps', async () => {
    const { delayed, ...others } = await recurring.getJobCounts('delayed', 'active', 'waiting', 'prioritized')
    return delayed! > 0 && Object.values(others).every((count) => count === 0)
  })
  await recurring.close()
  expect(await seqsOf(projectId)).toHaveLength(20)
})

test('a worker that is killed while it expires events leaves no gap, and the next run continues', async () => {
  service = await forFile(
    openTestService({ HISTORY_DAYS: String(days), JOB_BATCH_ROWS: '3', JOB_PAUSE_MS: '300' }),
  )
  ada = await register(service.client)
  const projectId = await openProject(200, 190)
  const first = await spawnService('worker', service.env)
  await eventually('the first deletions', async () => (await seqsOf(projectId)).length < 200)
  await first.stop('SIGKILL')
  const half = await seqsOf(projectId)
  expect(half.length).toBeGreaterThan(10)
  expect(half).toEqual(from(half[0]!, 200))
  await expire()
  expect(await seqsOf(projectId)).toEqual(from(191, 200))
})
