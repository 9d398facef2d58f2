import { connect } from 'node:net'
import { Redis } from 'ioredis'
import postgres from 'postgres'
import { eventually, freshEnv, freshRedis, holdTransaction, make, openClient, openForEach } from '../kit.ts'
import { register, spawnService, statuses, upTo } from '../kit.ts'
import type { Answer, FreshRedis, ServiceProcess } from '../kit.ts'
import { idleConnection, readiness } from './launch.ts'

const accepted = 20
const hour = String(600_000)
type Command = 'start' | 'web' | 'worker'

const forEach = openForEach()
let env: Record<string, string>
let redis: FreshRedis
beforeEach(async () => {
  redis = await forEach(freshRedis())
  ;({ env } = await forEach(freshEnv({ REDIS_URL: redis.url, WAITING_COMMANDS: String(accepted) })))
})
const spawn = (command: Command, over = {}) => forEach(spawnService(command, { ...env, ...over }))

const logged = (process: ServiceProcess, text: string) =>
  eventually(text, () => process.output.some((line) => line.includes(text)))

/** Stops a process while it has as many writes as it accepts; checks that it answers them. */
async function stopBusy(web: ServiceProcess): Promise<number | null> {
  const admin = await forEach(postgres(env.DATABASE_URL!, { max: 2, onnotice: () => {} }))
  const ada = await register(openClient(web.url))
  const { id: projectId } = await make(ada, '/projects', { name: 'Drained' })
  const idle = await idleConnection(web.url)
  const release = await holdTransaction(
    admin,
    (tx) => tx`select from streams where project_id = ${projectId} for update`,
  )
  const rejected: Answer[] = []
  const sent = upTo(accepted + 5).map((n) => ada.post('/tasks', { title: `Task ${n}`, projectId }))
  for (const answer of sent) void answer.then((one) => rejected.push(one))
  await eventually('the rejections', () => rejected.length === 5)
  const exited = web.stop()
  await logged(web, '"stopping"')
  await release()
  expect(statuses(await Promise.all(sent))).toEqual({ 201: accepted, 503: 5 })
  const code = await exited
  expect(await admin`select from tasks where project_id = ${projectId}`).toHaveLength(accepted)
  idle.destroy()
  return code
}

/** Changes of Redis before the process starts, or after its start. */
const redisStates: Record<string, { before?: () => void; after?: (process: ServiceProcess) => unknown }> = {
  available: {},
  'never reached': { before: () => redis.kill() },
  crashed: {
    after: (process) => {
      redis.kill()
      return logged(process, 'Redis is unavailable')
    },
  },
  frozen: { after: () => redis.freeze() },
}
/** `start` runs a web process and a worker. */
const rows = [
  ...Object.keys(redisStates).map((state) => ['start', state] as const),
  ...([
    ['web', 'available'],
    ['web', 'crashed'],
    ['worker', 'frozen'],
  ] as const),
]

// With this drain time-out, a shutdown that waited for Redis would exceed the time limit of the test.
test.each(rows)('%s answers accepted requests and exits with 0; Redis: %s', async (command, state) => {
  const { before, after } = redisStates[state]!
  before?.()
  const process = await spawn(command, { DRAIN_TIMEOUT_MS: hour })
  await after?.(process)
  expect(await (command === 'worker' ? process.stop() : stopBusy(process))).toBe(0)
  if (state !== 'available') return
  await logged(process, '"stopped"')
  expect(JSON.parse(process.output.at(-1)!)).toMatchObject({ level: 30, msg: 'stopped' })
  expect(process.output.filter((line) => /failed to close|error/i.test(line))).toEqual([])
  const client = new Redis(env.REDIS_URL!)
  expect(await client.keys(`${env.REDIS_PREFIX}:lease:*`)).toEqual([])
  client.disconnect()
})

test('a draining process is not ready, and serves requests until its port closes', async () => {
  const web = await spawn('web', { DRAIN_DELAY_MS: '3000' })
  const ada = await register(openClient(web.url))
  expect((await readiness(web.url)).status).toBe(200)
  const exited = web.stop()
  await logged(web, '"stopping"')
  const body = { status: 'draining', postgres: 'ok' }
  expect(await readiness(web.url)).toMatchObject({ status: 503, body })
  await make(ada, '/projects', { name: 'Accepted while it drains' })
  expect((await fetch(`${web.url}/health/live`)).status).toBe(200)
  expect(await exited).toBe(0)
})

test('a request that never ends delays the exit only until the drain time-out', async () => {
  const web = await spawn('web', { DRAIN_TIMEOUT_MS: '500' })
  const ada = await register(openClient(web.url))
  const { port, hostname } = new URL(web.url)
  const sender = connect(Number(port), hostname)
  const closed = new Promise((resolve) => sender.on('error', () => {}).once('close', resolve))
  const headers = `Host: x\r\nAuthorization: Bearer ${ada.token}\r\nContent-Type: application/json\r\n`
  sender.write(`POST /api/v1/projects HTTP/1.1\r\n${headers}Content-Length: 100\r\n\r\n{"name":`)
  await make(ada, '/projects', { name: 'Sent after it' })
  expect(await web.stop()).toBe(0)
  await closed
  await logged(web, 'did not finish in time')
  expect(web.output.filter((line) => line.includes('did not finish in time'))).toHaveLength(1)
})

// npm repeats the SIGINT of a terminal, which does not count as a second signal.
test.each<[NodeJS.Signals, number, Record<string, string>]>([
  ['SIGINT', 130, { DRAIN_DELAY_MS: hour }],
  ['SIGTERM', 143, { DRAIN_DELAY_MS: hour }],
  ['SIGINT', 0, { DRAIN_DELAY_MS: '1000', npm_lifecycle_event: 'web' }],
])('at a second signal, %s, a process exits with %d', async (signal, code, over) => {
  const web = await spawn('web', over)
  web.signal('SIGINT')
  await logged(web, '"stopping"')
  expect(await web.stop(signal)).toBe(code)
})

test('an unhandled rejection is logged in one line, and the process stops gracefully and exits with 1', async () => {
  const web = await spawnService('web', env, ['--preload', `${import.meta.dir}/stray.ts`])
  const ada = await register(openClient(web.url))
  const { id } = await make(ada, '/projects', { name: 'Kept' })
  const before = web.output.length
  web.signal('SIGUSR2')
  expect(await web.exited).toBe(1)
  await logged(web, 'a stray rejection')
  const fatal = web.output.slice(before).filter((line) => line.includes('a stray rejection'))
  expect(fatal).toHaveLength(1)
  expect(JSON.parse(fatal[0]!)).toMatchObject({ level: 60, reason: 'a stray rejection' })
  const again = await spawn('web')
  expect((await ada.at(again.url).get(`/projects/${id}`)).status).toBe(200)
})
