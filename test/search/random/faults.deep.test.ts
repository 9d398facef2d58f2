import { migrate } from '../../../drizzle/migrate.ts'
import { openPostgres } from '../../faults/postgres-server.ts'
import { fillStart } from '../../../modules/search/documents.ts'
import { cases, eventually, forFile, freshRedis, makeProjects, newFolder, openPair } from '../../kit.ts'
import { spawnService } from '../../kit.ts'
import { openOwnWords } from './own-words.ts'

/** Opens two processes. The returned functions write and search at both. */
async function open(env: Record<string, string> = {}, allowed: (number | undefined)[] = []) {
  const pair = await openPair(env)
  const words = openOwnWords([pair.atA, pair.atB], await makeProjects(pair.atA, 3), allowed)
  return {
    ...{ ...pair, ...words },
    startWorker: () => forFile(spawnService('worker', pair.env)),
    async acknowledged(more: number): Promise<void> {
      const from = words.counts.writes
      await eventually(`${more} more writes`, () => words.counts.writes >= from + more)
    },
    /** Writes and searches until `faults` has ended. */
    async during(faults: () => Promise<void>): Promise<void> {
      let isOver = false
      await Promise.all([words.writeUntil(() => isOver), faults().finally(() => (isOver = true))])
    },
  }
}

for (const withWorker of [false, true])
  test(`with${withWorker ? '' : 'out'} a worker, a search finds what was acknowledged before, and nothing deleted`, async () => {
    const { counts, startWorker, writeUntil, checkAll } = await open()
    if (withWorker) await startWorker()
    await writeUntil(() => counts.writes >= cases(120))
    await checkAll()
    expect(counts.unknown).toBe(0)
  }, 600_000)

test('searches are complete while workers are killed in bursts of writes', async () => {
  const { counts, startWorker, acknowledged, during, checkAll } = await open()
  await during(async () => {
    for (let n = 0; n < 6; n++) {
      const worker = await startWorker()
      await acknowledged(100)
      await worker.stop('SIGKILL')
      await acknowledged(50)
    }
  })
  await checkAll()
  await startWorker()
  await checkAll()
  expect(counts.unknown).toBe(0)
}, 600_000)

test('searches are complete after projects were filled again and again in bursts of writes', async () => {
  const { sql, startWorker, acknowledged, during, checkAll } = await open()
  await startWorker()
  await during(async () => {
    for (let n = 0; n < 20; n++) {
      await sql`update search_cursors set fill = ${sql.json({ ...fillStart })}`
      await acknowledged(25)
    }
  })
  await eventually('the end of the fills', async () => {
    return (await sql`select from search_cursors where fill is not null`).length === 0
  })
  await checkAll()
}, 600_000)

test('searches are complete without Redis, and after Redis has lost its data', async () => {
  const redis = await forFile(freshRedis())
  const { startWorker, acknowledged, during, checkAll } = await open({ REDIS_URL: redis.url })
  await startWorker()
  await during(async () => {
    await acknowledged(100)
    await redis.stop()
    await acknowledged(100)
    await redis.restart('delete')
    await acknowledged(100)
  })
  await checkAll()
}, 600_000)

test('searches are complete after Postgres has crashed and recovered', async () => {
  const postgres = await forFile(openPostgres(await newFolder()))
  await migrate(postgres.url)
  const { atA, atB, startWorker, acknowledged, during, checkAll } = await open(
    { DATABASE_URL: postgres.url },
    [503, undefined],
  )
  await startWorker()
  const canSearch = () =>
    eventually('searches at both processes', async () => {
      const answers = await Promise.all([atA, atB].map((one) => one.get('/search?q=x')))
      return answers.every(({ status }) => status === 200)
    })
  await during(async () => {
    for (let n = 0; n < 3; n++) {
      await acknowledged(100)
      await postgres.stopImmediately()
      await postgres.start()
      await canSearch()
    }
    await acknowledged(100)
  })
  await canSearch()
  await checkAll()
}, 600_000)
