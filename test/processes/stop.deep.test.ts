import { connect } from 'node:net'
import { eventually, freshEnv, freshRedis, make, openClient, openForEach, register } from '../kit.ts'
import { spawnService } from '../kit.ts'
import type { FreshRedis, ServiceProcess } from '../kit.ts'
import { readiness } from './launch.ts'

const commands = ['start', 'web', 'worker'] as const
const hour = String(600_000)

const forEach = openForEach()
let env: Record<string, string>
let redis: FreshRedis
beforeEach(async () => {
  redis = await forEach(freshRedis())
  ;({ env } = await forEach(freshEnv({ REDIS_URL: redis.url })))
})
const spawn = (command: (typeof commands)[number], over = {}) =>
  forEach(spawnService(command, { ...env, ...over }))

const logged = (process: ServiceProcess, text: string) =>
  eventually(text, () => process.output.some((line) => line.includes(text)))

test.each(commands)('%s exits with 0 at SIGINT, and its last log line is "stopped"', async (command) => {
  const process = await spawn(command)
  expect(await process.stop('SIGINT')).toBe(0)
  await logged(process, '"stopped"')
  expect(JSON.parse(process.output.at(-1)!)).toMatchObject({ level: 30, msg: 'stopped' })
  expect(process.output.filter((line) => /failed to close|error/i.test(line))).toEqual([])
})

// With this drain time-out, a shutdown that waited for Redis would exceed the time limit of the test.
test.each(commands)('%s does not wait for a crashed Redis at shutdown', async (command) => {
  const process = await spawn(command, { DRAIN_TIMEOUT_MS: hour })
  redis.kill()
  await logged(process, 'Redis is unavailable')
  expect(await process.stop()).toBe(0)
})

test.each(commands)('%s does not wait at shutdown for a Redis that was never reached', async (command) => {
  redis.kill()
  const process = await spawn(command, { DRAIN_TIMEOUT_MS: hour })
  expect(await process.stop()).toBe(0)
})

test.each(commands)('%s does not wait for a frozen Redis at shutdown', async (command) => {
  const process = await spawn(command, { DRAIN_TIMEOUT_MS: hour })
  redis.freeze()
  expect(await process.stop()).toBe(0)
})

test('a draining process is not ready, and serves requests until its port closes', async () => {
  const web = await spawn('web', { DRAIN_DELAY_MS: '8000' })
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

test('a second signal ends the process immediately with exit code 128 + the signal number', async () => {
  const signals = { SIGINT: 130, SIGTERM: 143 } as const
  for (const [signal, code] of Object.entries(signals) as [keyof typeof signals, number][]) {
    const web = await spawn('web', { DRAIN_DELAY_MS: hour })
    web.signal('SIGINT')
    await logged(web, '"stopping"')
    expect(await web.stop(signal)).toBe(code)
  }
})

test('the SIGINT that npm repeats does not count as a second signal', async () => {
  const web = await spawn('web', { DRAIN_DELAY_MS: '1000', npm_lifecycle_event: 'web' })
  web.signal('SIGINT')
  await logged(web, '"stopping"')
  expect(await web.stop('SIGINT')).toBe(0)
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
