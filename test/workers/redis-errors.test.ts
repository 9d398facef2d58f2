import { eventually, forFile, openLog, readConfig, sharedRedisPrefix } from '../kit.ts'
import { disconnect, openBlocking, openRedis, type RedisClient } from '../../src/redis/connections.ts'
import { openWorkers } from '../../workers/run-job.ts'
import { openSilentLine } from '../races/silent-line.ts'

const { url, prefix } = sharedRedisPrefix()
const line = await forFile(openSilentLine(url))

function openLines() {
  const lines: Record<string, unknown>[] = []
  const log = openLog('info', null, { write: (line) => void lines.push(JSON.parse(line)) })
  return { lines, log }
}

const isAnswered = (redis: RedisClient) => async () => (await redis.ping().catch(() => '')) === 'PONG'

test('a connection of workers that gets no reply is replaced', async () => {
  const redis = openBlocking(line.url, openLog('silent'), 200)
  await forFile({ close: async () => disconnect(redis) })
  await eventually('the first reply', isAnswered(redis))
  line.silenceOpen()
  await expect(redis.ping()).rejects.toThrow()
  await eventually('a reply', isAnswered(redis))
})

test.each([
  ['100', 'Command timed out'],
  ['60000', 'pending'],
])('a command of the service fails after REDIS_TIMEOUT_MS: %s', async (REDIS_TIMEOUT_MS, outcome) => {
  const redis = openRedis(readConfig({ REDIS_URL: line.url, REDIS_TIMEOUT_MS }), openLog('silent'))
  await forFile({ close: async () => disconnect(redis) })
  await eventually('the first reply', isAnswered(redis))
  line.silenceOpen()
  const failed = redis.ping().catch(({ message }: Error) => message)
  expect(await Promise.race([failed, Bun.sleep(1_500).then(() => 'pending')])).toBe(outcome)
})

test('logs each error of a worker once, but no error of its connection', async () => {
  const { lines, log } = openLines()
  const connection = openBlocking(line.url, log)
  const workers = openWorkers(connection, log)
  // A value of another type, so that each search for a job fails.
  await connection.set(`${prefix}:work:wait`, 'x')
  const options = { prefix, concurrency: 1, runRetryDelay: 10, skipVersionCheck: true }
  workers.open('work', async () => {}, options)
  const errors = () => lines.filter(({ msg }) => msg === 'a worker of a queue has an error')
  await eventually('an error', async () => errors().length > 0)
  expect(errors()[0]).toMatchObject({
    level: 40,
    queue: 'work',
    reason: expect.stringContaining('WRONGTYPE'),
  })
  line.cut()
  await eventually('a connection', async () => connection.status === 'ready')
  await connection.del(`${prefix}:work:wait`)
  await workers.close()
  disconnect(connection)
  expect(errors()).toHaveLength(1)
})
