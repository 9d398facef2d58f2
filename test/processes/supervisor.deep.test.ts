import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import postgres from 'postgres'
import { eventually, freshEnv, holdTransaction, mainFile, make, newFolder, openClient } from '../kit.ts'
import { openForEach, register, spawnService, statuses, upTo } from '../kit.ts'
import { run } from './launch.ts'
import { requestForever, requestOf } from './strict-client.ts'
import { isAlive, type SupervisedService, spawnSupervised } from './supervised-service.ts'

const forEach = openForEach()
let env: Record<string, string>
let admin: postgres.Sql
beforeEach(async () => {
  ;({ env } = await forEach(freshEnv()))
  admin = await forEach(postgres(env.DATABASE_URL!, { max: 1 }))
  env.BREAK_FILE = join(await newFolder('docket-supervisor-', forEach), 'broken')
})

const alive = () => 'GET /health/live HTTP/1.1\r\nHost: docket.test\r\n\r\n'
const breakable = ['--preload', `${import.meta.dir}/broken.ts`]
const supervise = (command: 'start' | 'web', over: Record<string, string> = {}, options: string[] = []) =>
  forEach(spawnSupervised(command, { ...env, ...over }, options))

test('the supervisor runs web processes on one port and one worker, logs the start once, and replaces a killed process', async () => {
  const service = await supervise('start', { LOG_REQUESTS: 'on', WEB_CONCURRENCY: '3' })
  const logged = (msg: string) => service.lines().filter((line) => line.msg === msg)
  const answering = () => new Set(logged('answered').map(({ pid }) => pid))
  const { web, worker } = service.pids()
  expect([web.length, worker.length]).toEqual([3, 1])
  const client = requestForever(service.url, alive, false)
  await eventually('all web processes', () => answering().size === 3)
  await client.stop()
  expect(answering()).toEqual(new Set(web))
  expect(logged('working').map(({ pid }) => pid)).toEqual(worker)
  expect(logged('listening')).toHaveLength(1)

  const [killed, ...others] = web
  process.kill(killed!, 'SIGKILL')
  await eventually('the end of the process', () => !isAlive(killed!))
  // The other web processes serve requests meanwhile.
  const meanwhile = requestForever(service.url, alive, false)
  const { started } = await service.logged('the child process was replaced')
  await meanwhile.stop()
  expect(meanwhile.failures).toEqual([])
  expect([started, ...others].every((pid) => pid !== killed && isAlive(pid as number))).toBe(true)

  const shared = { ...env, PORT: new URL(service.url).port, WEB_CONCURRENCY: '2' }
  expect(await run('web', shared)).toEqual({
    code: 1,
    output: expect.stringMatching(RegExp(`^PORT ${shared.PORT} is taken .*\\n$`)),
  })
  const beside = await spawnService('web', { ...shared, REUSE_PORT: 'on' })
  expect(await beside.stop()).toBe(0)
  expect(await service.stop()).toBe(0)
  await service.ended()
  await eventually('the end of the new process', () => !isAlive(started as number))
}, 400_000)

test('SIGHUP replaces the processes one after another without a failed request under load, but not by processes that do not start', async () => {
  const service = await supervise('start', {}, breakable)
  const before = service.pids()
  await Bun.write(env.BREAK_FILE!, '')
  service.signal('SIGHUP')
  await service.logged('a new process did not start: the current processes keep running')
  await rm(env.BREAK_FILE!)
  const ada = await register(openClient(service.url))
  const { id: projectId } = await make(ada, '/projects', { name: 'Rolled' })
  const { id } = await make(ada, '/tasks', { title: 'Read', projectId })
  const read = () => requestOf('GET', `/tasks/${id}`, ada.token!)
  const write = () => requestOf('POST', '/tasks', ada.token!, { title: 'Written', projectId })
  const clients = [true, true, false, false].flatMap((keepsAlive) =>
    [read, write].map((request) => requestForever(service.url, request, keepsAlive)),
  )
  service.signal('SIGHUP')
  await service.logged('rolling restart finished')
  await Promise.all(clients.map((client) => client.stop()))
  // Without the privilege to filter connections, the service logs that clients may have to reconnect.
  const mayReset = service.output.some((line) => line.includes('may have to reconnect'))
  if (mayReset) expect(process.getuid!()).not.toBe(0)
  const failures = clients.flatMap((client) => client.failures)
  expect(failures.filter((failure) => !mayReset || failure !== 'ECONNRESET')).toEqual([])
  for (const { answered } of clients) expect(answered).toBeGreaterThan(0)

  const after = service.pids()
  const all = [...before.web, ...before.worker, ...after.web, ...after.worker]
  expect([after.web.length, after.worker.length, new Set(all).size]).toEqual([2, 1, 6])
  const acknowledged = clients.reduce((sum, { answered }, i) => sum + (i % 2) * answered, 0)
  const written = await admin`select from tasks where project_id = ${projectId} and title = 'Written'`
  expect(written.length).toBeWithin(acknowledged, acknowledged + failures.length + 1)
  expect(await service.stop()).toBe(0)
  await service.ended()
}, 400_000)

test('if a child process ends right after its start several times in a row, the supervisor stops all processes', async () => {
  const service = await supervise('web', {}, breakable)
  await Bun.write(env.BREAK_FILE!, '')
  process.kill(service.pids().web[1]!, 'SIGKILL')
  expect(await service.exited).toBe(1)
  await service.ended()
  await eventually('the log line of the error', () =>
    service.output.includes('The web process ended right after its start, 6 times'),
  )
})

test('an error at the start is logged once, and ends the service', async () => {
  await Bun.write(env.BREAK_FILE!, '')
  const over = { ...env, WEB_CONCURRENCY: '3' }
  const ended = Bun.spawnSync([process.execPath, '--no-env-file', ...breakable, mainFile, 'web'], {
    env: { PATH: process.env.PATH, ...over },
  })
  expect([ended.exitCode, String(ended.stdout), String(ended.stderr)]).toEqual([1, '', 'broken on purpose\n'])
  const wrong = Object.assign(new URL(env.DATABASE_URL!), { password: 'wrong' })
  const { code, output } = await run('start', { ...over, DATABASE_URL: wrong.href })
  expect([code, output.trim().split('\n')]).toEqual([
    1,
    [expect.stringContaining('password authentication failed')],
  ])
})

test.each([
  ['the supervisor', () => []],
  ['all processes, as from a terminal', (service: SupervisedService) => service.pids().web],
])('after SIGTERM to %s, accepted requests get responses', async (_, others) => {
  const service = await supervise('web', { DRAIN_DELAY_MS: '1500' })
  const ada = await register(openClient(service.url))
  const { id: projectId } = await make(ada, '/projects', { name: 'Drained' })
  const release = await holdTransaction(
    admin,
    (tx) => tx`select from streams where project_id = ${projectId} for update`,
  )
  const sent = upTo(20).map((n) => ada.post('/tasks', { title: `Task ${n}`, projectId }))
  service.signal('SIGTERM')
  await service.logged('stopping')
  for (const pid of others(service)) process.kill(pid, 'SIGTERM')
  const isClosed = () =>
    fetch(`${service.url}/health/live`).then(
      () => false,
      () => true,
    )
  await eventually('the port to be closed', isClosed)
  await release()
  expect(statuses(await Promise.all(sent))).toEqual({ 201: 20 })
  expect(await service.exited).toBe(0)
  await service.ended()
})

test('a second SIGTERM ends all processes immediately', async () => {
  const service = await supervise('web', { DRAIN_DELAY_MS: '600000' })
  service.signal('SIGTERM')
  await service.logged('stopping')
  expect(await service.stop()).toBe(143)
  await service.ended()
})
