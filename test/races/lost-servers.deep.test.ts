import { cases, eventually, forFile, freshRedis, makeProjects, openPair } from '../kit.ts'
import { terminateConnections, upTo } from '../kit.ts'
import { expectNoFailures, type Load, expectAllStored, startLoad } from './load.ts'
import postgres from 'postgres'

const redis = await forFile(freshRedis())
const pair = await openPair({ REDIS_URL: redis.url })
const admin: postgres.Sql = await forFile(postgres(pair.env.DATABASE_URL!, { max: 2, onnotice: () => {} }))

test('if Postgres cuts all connections under load, writes are stored once, and fail only with 503', async () => {
  const { atA, atB, sql } = pair
  const projectIds = await makeProjects(atA, 3)
  const load = startLoad({ clients: [atA, atB], projectIds, writers: 16 })
  for (const _ of upTo(cases(5))) {
    await load.acknowledged(25)
    await terminateConnections(admin)
  }
  await load.acknowledged(100)
  await load.stop()
  const isConnected = async () => (await sql`select 1`.catch(() => [])).length > 0
  await eventually('new connections of this test', isConnected)
  await expectAllStored(sql, load, [503])
})

const command = async (...words: string[]) => {
  const client = new Bun.RedisClient(redis.url)
  await client.send(words[0]!, words.slice(1))
  client.close()
}

/** Faults with the number of rounds. Each round ends when more writes are acknowledged. */
const faults: [
  fault: string,
  rounds: number,
  inject: (load: Load, round: number) => unknown,
  more: number,
][] = [
  ['is flushed', cases(4), () => command('FLUSHALL'), 30],
  [
    'closes its connections',
    cases(4),
    (_, round) => command('CLIENT', 'KILL', 'TYPE', round % 2 ? 'normal' : 'pubsub'),
    30,
  ],
  [
    'is killed and restarted',
    2,
    async (load) => {
      redis.kill()
      await load.acknowledged(100)
      await redis.restart()
    },
    100,
  ],
  [
    'is frozen and resumed',
    2,
    async (load) => {
      redis.freeze()
      await load.acknowledged(100)
      redis.thaw()
    },
    100,
  ],
  ['is killed and does not restart', 1, () => redis.kill(), 300],
]

test.each(faults)('no request fails when Redis %s under load', (_, rounds, inject, more) =>
  expectNoFailures(pair, async (load) => {
    for (const round of upTo(rounds)) {
      await inject(load, round)
      await load.acknowledged(more)
    }
  }),
)
