import { type Answer, at, clockShiftedBy, eventually, faultsOf, forFile } from '../kit.ts'
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
    const { id, ids } = await createFullProject(ada, 24)
    const left = async () => (await rowsWith(sql, ids)).tasks ?? 0
    // With this pause, the worker is ended long before the end of the purge.
    const worker = await startWorker({ JOB_PAUSE_MS: '300' })
    await ada.delete(`/projects/${id}`)
    await eventually('the first deletions', async () => (await left()) < 24)
    expect(await worker.stop(signal)).toBe(signal === 'SIGTERM' ? 0 : null)
    if (signal === 'SIGKILL') expect([(await left()) > 0, await outboxSize(sql)]).toEqual([true, 1])
    const next = await startWorker()
    await untilOutboxEmpty(sql)
    expect(await rowsWith(sql, ids)).toEqual({})
    await next.stop()
  }
}, 300_000)

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

const chains = 300
const perBatch = 100

test('300 chains of three tasks are done by 8 callers while processes are killed: each task once, after its blocker, with at most one ready event', async () => {
  const { webs, people, sql, env } = await openWebs([{}, {}], { WRITE_SHARDS: '4', JOB_BATCH_ROWS: '50' })
  const start = (command: 'web' | 'worker') => forEach(spawnService(command, env))
  const [workers, processes] = [[await start('worker'), await start('worker')], [...webs]]
  const ada = people[0]!
  const [projectId = ''] = await makeProjects(ada, 1)
  const rows = (letter: string, blocker?: string) =>
    upTo(perBatch).map((n) => ({
      ...{ op: 'task.create', as: `${letter}${n}`, title: letter },
      ...(blocker && { blockedByIds: [`#${blocker}${n}`] }),
    }))
  for (let n = 0; n < chains; n += perBatch)
    await runBatch(ada, projectId, [...rows('A'), ...rows('B', 'A'), ...rows('C', 'B')])
  /** Repeats a request at another process until one answers. */
  async function send(request: (person: Person) => Promise<Answer>, n: number): Promise<Answer> {
    for (let attempt = n; ; attempt++) {
      const answer = await request(at(ada, processes[attempt % 2]!)).catch(() => undefined)
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
      handedOut.push(claimed.body.id)
      const close = (person: Person) => person.patch(`/tasks/${claimed.body.id}`, { status: 'DONE' })
      expect((await send(close, round)).status).toBe(200)
      done.add(claimed.body.id)
    }
  }
  const running = upTo(8).map(work)
  for (const kill of [0, 1]) {
    await eventually('a third', () => done.size >= (kill + 1) * chains)
    await Promise.all([workers[kill]!.stop('SIGKILL'), processes[kill]!.stop('SIGKILL')])
    ;[workers[kill], processes[kill]] = await Promise.all([start('worker'), start('web')])
  }
  await Promise.all(running)
  expect(handedOut.toSorted()).toEqual([...done].sort())
  const counts = await sql`
    select type, count(*) = count(distinct entity_id) as "isOnce" from events
    where type in ('task.claimed', 'task.ready') group by 1 order by 1`
  expect([...counts] as object[]).toEqual([
    { type: 'task.claimed', isOnce: true },
    { type: 'task.ready', isOnce: true },
  ])
  const early = await sql`
    select from events e join tasks t on t.id = e.entity_id, unnest(t.blocked_by_ids) blocker
    where e.type in ('task.claimed', 'task.ready')
      and e.seq < (select max(seq) from events where entity_id = blocker and type = 'task.updated')`
  expect(early).toHaveLength(0)
  expect(await faultsOf(sql)).toEqual([])
}, 600_000)
