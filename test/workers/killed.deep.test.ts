import { type Answer, at, clockShiftedBy, eventually, expireEvents, faultsOf, forFile } from '../kit.ts'
import { freshRedis, holdTransaction, makeProjects, openForEach, openTestService, openWebs } from '../kit.ts'
import { type Person, register, runBatch, spawnService, upTo } from '../kit.ts'
import { openEventScenes } from './events-scene.ts'
import { createFullProject, flushRedis, outboxSize, rowsWith, untilOutboxEmpty } from './remains.ts'

const forEach = openForEach()
const open = openEventScenes()

async function openService(env: Record<string, string>) {
  const service = await forEach(openTestService(env))
  const ada = await register(service.client)
  const startWorker = (own = {}) => forEach(spawnService('worker', { ...service.env, ...own }))
  return { ada, sql: service.services.database.reads, startWorker }
}

test('another worker finishes the purge of a killed worker, and a stopped worker finishes or returns its job', async () => {
  const { ada, sql, startWorker } = await openService({ JOB_BATCH_ROWS: '3', JOB_PAUSE_MS: '30' })
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    const { id, ids } = await createFullProject(ada, 40)
    const left = async () => (await rowsWith(sql, ids)).tasks ?? 0
    // With this pause, the worker is ended long before the end of the purge.
    const worker = await startWorker({ JOB_PAUSE_MS: '300' })
    await ada.delete(`/projects/${id}`)
    await eventually('the first deletions', async () => (await left()) < 40)
    expect(await worker.stop(signal)).toBe(signal === 'SIGTERM' ? 0 : null)
    if (signal === 'SIGKILL') expect([(await left()) > 0, await outboxSize(sql)]).toEqual([true, 1])
    const next = await startWorker()
    await untilOutboxEmpty(sql)
    expect(await rowsWith(sql, ids)).toEqual({})
    await next.stop()
  }
})

test('a job whose worker crashes at each attempt becomes a dead letter, with a log line', async () => {
  const redis = await forFile(freshRedis())
  const attempts = 3
  const env = { REDIS_URL: redis.url, JOB_ATTEMPTS: String(attempts), SWEEP_EVERY_MS: '50' }
  const { ada, sql, startWorker } = await openService(env)
  const row = async () => {
    const [one] = await sql<{ id: string; attempts: number; error: string; isParked: boolean }[]>`
      select id, attempts, error, parked_at is not null as is_parked from outbox`
    return one!
  }
  await ada.delete(`/projects/${(await createFullProject(ada, 2)).id}`)
  const release = await holdTransaction(sql, (tx) => tx`lock table comments in access exclusive mode`)
  for (const n of upTo(attempts)) {
    const worker = await startWorker()
    await eventually(`try ${n}`, async () => (await row()).attempts === n)
    await worker.stop('SIGKILL')
    await flushRedis(redis.url)
  }
  const worker = await startWorker()
  await eventually('a dead letter', async () => (await row()).isParked)
  const { id, error } = await row()
  expect(error).toBe('The worker ended before the job was done')
  expect(await worker.stop()).toBe(0)
  await eventually('the log line of the dead letter', () => worker.output.some((line) => line.includes(id)))
  const lines = worker.output.map((line) => JSON.parse(line))
  expect(lines).toContainEqual(expect.objectContaining({ level: 50, id, job: 'purge-project' }))
  await release()
})

test('a worker that is killed while it expires events leaves no gap, and the next run continues', async () => {
  const { ada, sql, startWorker } = await openService({
    HISTORY_DAYS: '30',
    JOB_BATCH_ROWS: '3',
    JOB_PAUSE_MS: '300',
  })
  const [projectId = ''] = await makeProjects(ada, 1)
  await runBatch(
    ada,
    projectId,
    upTo(199).map((n) => ({ op: 'task.create', title: `T${n}` })),
  )
  await sql`update events set at = at - interval '31 days' where seq <= 190`
  const seqs = async () =>
    (await sql<{ seq: number }[]>`select seq::float8 as seq from events order by events.seq`).map(
      ({ seq }) => seq,
    )
  const worker = await startWorker()
  await eventually('the first deletions', async () => (await seqs()).length < 200)
  await worker.stop('SIGKILL')
  const half = await seqs()
  expect(half.length).toBeGreaterThan(10)
  expect(half).toEqual(upTo(200).slice(-half.length))
  await expireEvents(sql, 30, { batchRows: 10, pauseMs: 0 })
  expect(await seqs()).toEqual(upTo(200).slice(190))
})

test.each(['timed', 'ready'])(
  'worker processes record each %s event once while they are killed',
  async (kind) => {
    const scene = await open({ JOB_BATCH_ROWS: '4', JOB_PAUSE_MS: '20' })
    const start = (clock = {}) => scene.forEach(spawnService('worker', { ...scene.service.env, ...clock }))
    const [killed] = await Promise.all([start(), start(clockShiftedBy(3_600_000))])
    const projects = await Promise.all(upTo(6).map(() => scene.create(kind, 40)))
    await Promise.all(projects.map(({ happen }) => happen()))
    const count = async () => (await Promise.all(projects.map(scene.recorded))).flat().length
    await eventually('the first events', async () => (await count()) > 20)
    await killed.stop('SIGKILL')
    await start()
    await scene.untilRecorded(...projects)
    expect(
      await scene.sql`select from events where type = any(${projects[0]!.types})
    and at < coalesce(before->>'remindAt', before->>'claimedUntil', after->>'dueAfter')::timestamptz`,
    ).toHaveLength(0)
    expect(await faultsOf(scene.sql)).toEqual([])
  },
)

const chains = 1_000
const perBatch = 100

test('1,000 blocked chains are done by 8 callers while processes are killed: each task once, after its blocker, with one ready event', async () => {
  const { webs, people, sql, env } = await openWebs([{}, {}], { WRITE_SHARDS: '4', JOB_BATCH_ROWS: '50' })
  const start = (command: 'web' | 'worker') => forEach(spawnService(command, env))
  const [workers, processes] = [[await start('worker'), await start('worker')], [...webs]]
  const [ada] = people
  const [projectId = ''] = await makeProjects(ada!, 1)
  const blockerOf = new Map<string, string>()
  for (let n = 0; n < chains; n += perBatch) {
    const rows = (letter: string, blocker?: string) =>
      upTo(perBatch).map((i) => ({
        ...{ op: 'task.create', as: `${letter}${i}`, title: `${letter}${n + i}` },
        ...(blocker && { blockedByIds: [`#${blocker}${i}`] }),
      }))
    const operations = [...rows('A'), ...rows('B', 'A'), ...rows('C', 'B')]
    const ids = (await runBatch(ada!, projectId, operations)).map(({ id }) => id)
    for (const [i, id] of ids.entries()) if (i >= perBatch) blockerOf.set(id, ids[i - perBatch]!)
  }
  /** Repeats a request at another process until one answers. */
  async function send(request: (person: Person) => Promise<Answer>, n: number): Promise<Answer> {
    for (let attempt = n; ; attempt++) {
      const answer = await request(at(ada!, processes[attempt % 2]!)).catch(() => undefined)
      if (answer && answer.status < 500) return answer
      await Bun.sleep(20)
    }
  }
  const [done, handedOut] = [new Set<string>(), [] as string[]]
  async function work(n: number): Promise<void> {
    for (let round = n; done.size < 3 * chains; round++) {
      const key = { 'idempotency-key': `claim-${n}-${round}` }
      const path = `/projects/${projectId}/claim-next`
      const claimed = await send((person) => person.post(path, { leaseSeconds: 600, wait: 1 }, key), round)
      if (claimed.status !== 200) continue
      const { id } = claimed.body
      handedOut.push(id)
      const closed = await send((person) => person.patch(`/tasks/${id}`, { status: 'DONE' }), round)
      expect(closed.status).toBe(200)
      done.add(id)
    }
  }
  const running = upTo(8).map(work)
  for (const quarter of upTo(3)) {
    await eventually('a quarter', () => done.size >= (quarter * 3 * chains) / 4 - chains / 2)
    await workers[quarter % 2]!.stop('SIGKILL')
    workers[quarter % 2] = await start('worker')
    await processes[quarter % 2]!.stop('SIGKILL')
    processes[quarter % 2] = await start('web')
  }
  await Promise.all(running)
  expect(handedOut.toSorted()).toEqual([...done].sort())
  const seqsOf = async (type: string) => {
    const rows = await sql<{ seq: number; id: string }[]>`
      select seq::float8 as seq, entity_id as id from events where project_id = ${projectId} and type = ${type}
      order by events.seq desc`
    return { count: rows.length, first: new Map(rows.map(({ id, seq }) => [id, seq])) }
  }
  const [claims, changes, ready] = await Promise.all(
    ['task.claimed', 'task.updated', 'task.ready'].map(seqsOf),
  )
  for (const [id, blocker] of blockerOf) {
    const doneAt = changes!.first.get(blocker)!
    expect(claims!.first.get(id)!).toBeGreaterThan(doneAt)
    // A task that is claimed before a worker searches gets no event.
    expect(ready!.first.get(id) ?? Infinity).toBeGreaterThan(doneAt)
  }
  expect(claims!.count).toBe(3 * chains)
  expect([ready!.count, ready!.count > 0]).toEqual([ready!.first.size, true])
  expect(await faultsOf(sql)).toEqual([])
}, 600_000)
