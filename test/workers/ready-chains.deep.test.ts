import { at, eventually, faultsOf, make, openForEach, openWebs, runBatch, spawnService } from '../kit.ts'
import { upTo } from '../kit.ts'
import type { Answer, Person } from '../kit.ts'

const forEach = openForEach()
const chains = 1_000
/** The first test sends 6,000 requests. */
const timeoutMs = 600_000
const perBatch = 100

interface Logged {
  type: string
  seq: number
  id: string
}

test(
  '1,000 blocked chains are done by 8 workers with kills: each task once, after its blocker, with one ready event',
  async () => {
    const { webs, people, sql, env } = await openWebs([{}, {}], { WRITE_SHARDS: '4', JOB_BATCH_ROWS: '50' })
    const start = () => forEach(spawnService('worker', env))
    const workers = [await start(), await start()]
    const [ada] = people
    const { id: projectId } = await make(ada!, '/projects', { name: 'Chains' })
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
    const done = new Set<string>()
    const handedOut: string[] = []
    const processes = [...webs]
    /** Repeats a request at another process until one answers. */
    async function send(request: (person: Person) => Promise<Answer>, n: number): Promise<Answer> {
      for (let attempt = n; ; attempt++) {
        const answer = await request(at(ada!, processes[attempt % processes.length]!)).catch(() => undefined)
        if (answer && answer.status < 500) return answer
        await Bun.sleep(20)
      }
    }
    async function work(n: number): Promise<void> {
      for (let round = n; done.size < 3 * chains; round++) {
        const key = { 'idempotency-key': `claim-${n}-${round}` }
        const path = `/projects/${projectId}/claim-next`
        const claimed = await send((person) => person.post(path, { leaseSeconds: 600, wait: 1 }, key), round)
        if (claimed.status !== 200) continue
        const { id } = claimed.body
        handedOut.push(id)
        expect((await send((person) => person.patch(`/tasks/${id}`, { status: 'DONE' }), round)).status).toBe(
          200,
        )
        done.add(id)
      }
    }
    const running = upTo(8).map(work)
    for (const quarter of upTo(3)) {
      await eventually('a quarter', () => done.size >= (quarter * 3 * chains) / 4 - chains / 2)
      const worker = workers[quarter % 2]!
      await worker.stop('SIGKILL')
      workers[quarter % 2] = await start()
      await processes[quarter % 2]!.stop('SIGKILL')
      processes[quarter % 2] = await forEach(spawnService('web', env))
    }
    await Promise.all(running)
    expect(handedOut.toSorted()).toEqual([...done].sort())
    const events = () => sql<Logged[]>`
    select type, seq::float8 as seq, entity_id as id from events where project_id = ${projectId}
    and type in ('task.claimed', 'task.ready', 'task.updated') order by events.seq`
    // A task that is claimed before a worker searches gets no event.
    const all = await events()
    const first = (type: string) =>
      new Map(
        all
          .filter((one) => one.type === type)
          .toReversed()
          .map(({ id, seq }) => [id, seq]),
      )
    const [claimedAt, doneAt, readyAt] = [first('task.claimed'), first('task.updated'), first('task.ready')]
    for (const [id, blocker] of blockerOf) {
      expect(claimedAt.get(id)!).toBeGreaterThan(doneAt.get(blocker)!)
      if (readyAt.has(id)) expect(readyAt.get(id)!).toBeGreaterThan(doneAt.get(blocker)!)
    }
    expect(all.filter(({ type }) => type === 'task.claimed')).toHaveLength(3 * chains)
    expect(all.filter(({ type }) => type === 'task.ready')).toHaveLength(readyAt.size)
    expect(readyAt.size).toBeGreaterThan(0)
    expect(await faultsOf(sql)).toEqual([])
  },
  timeoutMs,
)

test(
  'each ready event is recorded exactly once while worker processes are killed',
  async () => {
    const { people, sql, env } = await openWebs([{}], { JOB_BATCH_ROWS: '7', JOB_PAUSE_MS: '20' })
    const start = () => forEach(spawnService('worker', env))
    const workers = [await start(), await start()]
    const [ada] = people
    const rounds = 3
    const scenes = await Promise.all(
      upTo(6).map(async () => {
        const { id: projectId } = await make(ada!, '/projects', { name: 'Blocked' })
        const { id: blocker } = await make(ada!, '/tasks', { projectId, title: 'Blocker' })
        const operations = upTo(150).map((n) => ({
          op: 'task.create',
          title: `T${n}`,
          blockedByIds: [blocker],
        }))
        const ids = (await runBatch(ada!, projectId, operations)).map(({ id }) => id)
        return { projectId, blocker, ids }
      }),
    )
    const counts = async (projectId: string) =>
      (
        await sql<{ id: string; count: number }[]>`
      select entity_id as id, count(*)::int4 as count from events
      where project_id = ${projectId} and type = 'task.ready' group by entity_id`
      ).map(({ count }) => count)
    const total = async () => {
      const [row] = await sql<
        { count: number }[]
      >`select count(*)::int4 as count from events where type = 'task.ready'`
      return row!.count
    }
    const all = scenes.length * 150
    for (const round of upTo(rounds)) {
      const before = await total()
      await Promise.all(scenes.map(({ blocker }) => ada!.patch(`/tasks/${blocker}`, { status: 'DONE' })))
      await eventually('the first events', async () => (await total()) > before + 20)
      await workers[round % 2]!.stop('SIGKILL')
      workers[round % 2] = await start()
      await eventually('all events', async () => (await total()) >= before + all)
      await Promise.all(scenes.map(({ blocker }) => ada!.patch(`/tasks/${blocker}`, { status: 'TODO' })))
    }
    for (const { projectId } of scenes) expect(await counts(projectId)).toEqual(upTo(150).map(() => rounds))
    expect(await faultsOf(sql)).toEqual([])
  },
  timeoutMs,
)
