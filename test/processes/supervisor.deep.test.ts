import { join } from 'node:path'
import postgres from 'postgres'
import { isServerProcess } from '../../src/local/process.ts'
import { eventually, freshEnv, mainFile, make, newFolder, openClient, openForEach, register } from '../kit.ts'
import { spawnService, statuses, upTo } from '../kit.ts'
import { run } from './launch.ts'
import { isAlive, type SupervisedService, spawnSupervised } from './supervised-service.ts'
import { requestForever } from './strict-client.ts'

const forEach = openForEach()
let env: Record<string, string>
let dataDir: string
beforeEach(async () => {
  ;({ env } = await forEach(freshEnv()))
  dataDir = await newFolder('docket-supervisor-', forEach)
})

const alive = () => 'GET /health/live HTTP/1.1\r\nHost: docket.test\r\n\r\n'
const broken = () => ({ BREAK_FILE: join(dataDir, 'broken') })
const breakable = ['--preload', `${import.meta.dir}/broken.ts`]

test('the supervisor runs web processes on one port and one worker, and logs the start once', async () => {
  const service = await forEach(
    spawnSupervised('start', { ...env, LOG_REQUESTS: 'on', WEB_CONCURRENCY: '3' }),
  )
  const { lines, url } = service
  const logged = (msg: string) => lines().filter((line) => line.msg === msg)
  const { web, worker } = service.pids()
  expect([web.length, worker.length]).toEqual([3, 1])
  const client = requestForever(url, alive, false)
  await eventually('all web processes', () => new Set(logged('answered').map(({ pid }) => pid)).size === 3)
  await client.stop()
  expect(new Set(logged('answered').map(({ pid }) => pid))).toEqual(new Set(web))
  expect(logged('working').map(({ pid }) => pid)).toEqual(worker)
  expect([logged('listening').length, logged('database migrations are complete').length]).toEqual([1, 1])
  expect(await service.stop()).toBe(0)
  await service.ended()
})

test('while a killed web process is replaced, the other web processes serve requests', async () => {
  const service = await forEach(spawnSupervised('web', env))
  const [killed, other] = service.pids().web
  process.kill(killed!, 'SIGKILL')
  await eventually('the end of the process', () => !isAlive(killed!))
  const client = requestForever(service.url, alive, false)
  const { started } = await service.logged('the child process was replaced')
  await client.stop()
  expect(client.failures).toEqual([])
  expect([isAlive(started as number), isAlive(other!), started === killed]).toEqual([true, true, false])
  expect(await service.stop()).toBe(0)
  await eventually('the end of the new process', () => !isAlive(started as number))
})

test('if a child process ends right after its start several times in a row, the supervisor stops all processes', async () => {
  const service = await forEach(spawnSupervised('web', { ...env, ...broken() }, breakable))
  await Bun.write(broken().BREAK_FILE, '')
  process.kill(service.pids().web[1]!, 'SIGKILL')
  expect(await service.exited).toBe(1)
  await service.ended()
  await eventually('the log line of the error', () =>
    service.output.includes('The web process ended right after its start, 6 times'),
  )
})

test('an error at the start is logged once, and ends the service', async () => {
  await Bun.write(broken().BREAK_FILE, '')
  const over = { ...env, WEB_CONCURRENCY: '3' }
  const ended = Bun.spawnSync([process.execPath, '--no-env-file', ...breakable, mainFile, 'web'], {
    env: { PATH: process.env.PATH, ...over, ...broken() },
  })
  expect([ended.exitCode, String(ended.stdout), String(ended.stderr)]).toEqual([1, '', 'broken on purpose\n'])

  const wrong = new URL(env.DATABASE_URL!)
  wrong.password = 'wrong'
  const { code, output } = await run('start', { ...over, DATABASE_URL: wrong.href })
  expect([code, output.trim().split('\n').length]).toEqual([1, 1])
  expect(output).toContain('password authentication failed')
})

test('rejects a port that another service shares, unless REUSE_PORT is set', async () => {
  const service = await forEach(spawnSupervised('web', env))
  const PORT = new URL(service.url).port
  const { code, output } = await run('web', { ...env, PORT, WEB_CONCURRENCY: '2' })
  expect([code, output.trim()]).toEqual([1, expect.stringMatching(new RegExp(`^PORT ${PORT} is taken .*$`))])
  const beside = await spawnService('web', { ...env, PORT, WEB_CONCURRENCY: '2', REUSE_PORT: 'on' })
  expect(await beside.stop()).toBe(0)
})

test.each([
  ['the supervisor', () => []],
  ['all processes, as from a terminal', (service: SupervisedService) => service.pids().web],
])('after SIGTERM to %s, accepted requests get responses', async (_, others) => {
  const service = await forEach(spawnSupervised('web', { ...env, DRAIN_DELAY_MS: '5000' }))
  const admin = postgres(env.DATABASE_URL!, { max: 1 })
  const ada = await register(openClient(service.url))
  const { id: projectId } = await make(ada, '/projects', { name: 'Drained' })
  const sent = await admin.begin(async (sql) => {
    await sql`select 1 from streams where project_id = ${projectId} for update`
    const sent = upTo(20).map((n) => ada.post('/tasks', { title: `Task ${n}`, projectId }))
    service.signal('SIGTERM')
    await service.logged('stopping')
    for (const pid of others(service)) process.kill(pid, 'SIGTERM')
    await eventually('the port to be closed', () => isClosed(service.url))
    return sent
  })
  expect(statuses(await Promise.all(sent))).toEqual({ 201: 20 })
  expect(await service.exited).toBe(0)
  await service.ended()
  await admin.end()
})

test('a second SIGTERM ends all processes immediately', async () => {
  const service = await forEach(spawnSupervised('web', { ...env, DRAIN_DELAY_MS: '600000' }))
  service.signal('SIGTERM')
  await service.logged('stopping')
  expect(await service.stop()).toBe(143)
  await service.ended()
})

test('if the supervisor is killed, its children stop, and the next start finds the data', async () => {
  const own = { DATA_DIR: dataDir, HOST: '127.0.0.1', PORT: '0' }
  const service = await forEach(spawnSupervised('start', own))
  const ada = await register(openClient(service.url))
  expect(await service.stop('SIGKILL')).toBe(null)
  await service.ended()
  const again = await spawnService('start', own)
  expect((await ada.at(again.url).get('/projects')).status).toBe(200)
  expect(await again.stop()).toBe(0)
  const pidFile = Bun.file(join(dataDir, 'postgres/postmaster.pid'))
  const pid = parseInt(await pidFile.text().catch(() => '0'))
  expect(await isServerProcess(pid, join(dataDir, 'postgres'))).toBe(false)
})

const isClosed = (url: string) =>
  fetch(`${url}/health/live`).then(
    () => false,
    () => true,
  )
