import { beforeEach, expect, test } from 'bun:test'
import { join } from 'node:path'
import postgres from 'postgres'
import { isServerProcess } from '../../src/local/process.ts'
import { eventually, upTo, statuses } from '../races/pair.ts'
import { make, openClient, register } from '../support/client.ts'
import { freshEnv, spawnService, openForEach, newFolder } from '../support/service.ts'
import { run } from './launch.ts'
import { isAlive, type Several, spawnSeveral } from './supervised-service.ts'
import { askWithoutEnd } from './strict-client.ts'

const forEach = openForEach()
let env: Record<string, string>
let dataDir: string
beforeEach(async () => {
  ;({ env } = await forEach(freshEnv()))
  dataDir = await newFolder('docket-several-', forEach)
})

const alive = () => 'GET /health/live HTTP/1.1\r\nHost: docket.test\r\n\r\n'
const broken = () => ({ BREAK_FILE: join(dataDir, 'broken') })
const breakable = ['--preload', `${import.meta.dir}/broken.ts`]

test('all of them serve on one port, beside one worker, and the parent says so once', async () => {
  const several = await forEach(spawnSeveral('start', { ...env, LOG_REQUESTS: 'on', WEB_CONCURRENCY: '3' }))
  const { lines, url } = several
  const said = (msg: string) => lines().filter((line) => line.msg === msg)
  const { web, worker } = several.pids()
  expect([web.length, worker.length]).toEqual([3, 1])
  const client = askWithoutEnd(url, alive, false)
  await eventually('all have answered', () => new Set(said('answered').map(({ pid }) => pid)).size === 3)
  await client.stop()
  expect(new Set(said('answered').map(({ pid }) => pid))).toEqual(new Set(web))
  expect(said('working').map(({ pid }) => pid)).toEqual(worker)
  expect([said('listening').length, said('database is migrated').length]).toEqual([1, 1])
  expect(await several.stop()).toBe(0)
  await several.gone()
})

test('one that is killed is replaced, and the others serve meanwhile', async () => {
  const several = await forEach(spawnSeveral('web', env))
  const [killed, other] = several.pids().web
  process.kill(killed!, 'SIGKILL')
  await eventually('it is gone', () => !isAlive(killed!))
  const client = askWithoutEnd(several.url, alive, false)
  const { started } = await several.said('the child process was replaced')
  await client.stop()
  expect(client.failures).toEqual([])
  expect([isAlive(started as number), isAlive(other!), started === killed]).toEqual([true, true, false])
  expect(await several.stop()).toBe(0)
  await eventually('the new one ends too', () => !isAlive(started as number))
})

test('when they end at once, time and again, all ends, and says so', async () => {
  const several = await forEach(spawnSeveral('web', { ...env, ...broken() }, breakable))
  await Bun.write(broken().BREAK_FILE, '')
  process.kill(several.pids().web[1]!, 'SIGKILL')
  expect(await several.exited).toBe(1)
  await several.gone()
  await eventually('it has said so', () =>
    several.output.includes('The web process ended at once, 6 times in a row'),
  )
})

test('what the first one has to say at the start is said once, and ends it', async () => {
  await Bun.write(broken().BREAK_FILE, '')
  const over = { ...env, WEB_CONCURRENCY: '3' }
  const main = new URL('../../src/main.ts', import.meta.url).pathname
  const ended = Bun.spawnSync([process.execPath, '--no-env-file', ...breakable, main, 'web'], {
    env: { PATH: process.env.PATH, ...over, ...broken() },
  })
  expect([ended.exitCode, String(ended.stdout), String(ended.stderr)]).toEqual([1, '', 'broken on purpose\n'])

  const wrong = new URL(env.DATABASE_URL!)
  wrong.password = 'wrong'
  const { code, output } = await run('start', { ...over, DATABASE_URL: wrong.href })
  expect([code, output.trim().split('\n').length]).toEqual([1, 1])
  expect(output).toContain('password authentication failed')
})

test('a port that others share is taken all the same', async () => {
  const several = await forEach(spawnSeveral('web', env))
  const PORT = new URL(several.url).port
  const { code, output } = await run('web', { ...env, PORT, WEB_CONCURRENCY: '2' })
  expect([code, output.trim()]).toEqual([1, expect.stringMatching(new RegExp(`^PORT ${PORT} is taken .*$`))])
  const beside = await spawnService('web', { ...env, PORT, WEB_CONCURRENCY: '2', REUSE_PORT: 'on' })
  expect(await beside.stop()).toBe(0)
})

test.each([
  ['to the parent', () => []],
  ['to all of them, as from a terminal', (one: Several) => one.pids().web],
])('SIGTERM %s: what was accepted is answered', async (_, others) => {
  const several = await forEach(spawnSeveral('web', { ...env, DRAIN_DELAY_MS: '1000' }))
  const admin = postgres(env.DATABASE_URL!, { max: 1 })
  const ada = await register(openClient(several.url))
  const { id: projectId } = await make(ada, '/projects', { name: 'Drained' })
  const sent = await admin.begin(async (sql) => {
    await sql`select 1 from streams where project_id = ${projectId} for update`
    const sent = upTo(20).map((n) => ada.post('/tasks', { title: `Task ${n}`, projectId }))
    several.signal('SIGTERM')
    await several.said('stopping')
    for (const pid of others(several)) process.kill(pid, 'SIGTERM')
    await eventually('the port is closed', () => isClosed(several.url))
    return sent
  })
  expect(statuses(await Promise.all(sent))).toEqual({ 201: 20 })
  expect(await several.exited).toBe(0)
  await several.gone()
  await admin.end()
})

test('a second SIGTERM ends all at once', async () => {
  const several = await forEach(spawnSeveral('web', { ...env, DRAIN_DELAY_MS: '600000' }))
  several.signal('SIGTERM')
  await several.said('stopping')
  expect(await several.stop()).toBe(143)
  await several.gone()
})

test('when the parent is killed, its processes end, and the next start has the data', async () => {
  const own = { DATA_DIR: dataDir, HOST: '127.0.0.1', PORT: '0' }
  const several = await forEach(spawnSeveral('start', own))
  const ada = await register(openClient(several.url))
  expect(await several.stop('SIGKILL')).toBe(null)
  await several.gone()
  const again = await spawnService('start', own)
  expect((await ada.at(again.url).get('/projects')).status).toBe(200)
  expect(await again.stop()).toBe(0)
  const postmaster = Number(
    (
      await Bun.file(join(dataDir, 'postgres/postmaster.pid'))
        .text()
        .catch(() => '0')
    ).split('\n')[0],
  )
  expect(await isServerProcess(postmaster, join(dataDir, 'postgres'))).toBe(false)
})

const isClosed = (url: string) =>
  fetch(`${url}/health/live`).then(
    () => false,
    () => true,
  )
