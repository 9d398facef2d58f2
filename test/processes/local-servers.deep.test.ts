import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isServerProcess } from '../../src/local/process.ts'
import { eventually, newFolder, openForEach } from '../kit.ts'
import { begin, beginOnTerminal } from './launch.ts'

const forEach = openForEach()
let dataDir: string
beforeEach(async () => void (dataDir = await newFolder('docket-own-', forEach)))

const start = (env = {}) =>
  begin('start', { DATA_DIR: dataDir, HOST: '127.0.0.1', PORT: '0', DRAIN_DELAY_MS: '600000', ...env })

async function pids(): Promise<Record<string, number>> {
  const postgres = await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8').catch(() => '0')
  const redis = await readFile(join(dataDir, 'redis/server.json'), 'utf8').catch(() => '{"pid":0}')
  return { postgres: Number(postgres.split('\n')[0]), redis: JSON.parse(redis).pid }
}

/** Finds processes by the folder in their command line, because a starting server has no pid file yet. */
async function processesIn(dir: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const lines = pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''))
  return (await Promise.all(lines)).filter((line) => line.includes(dir))
}

const untilEnded = (servers: Record<string, number>) =>
  eventually('the end of the servers', async () => {
    const works = Object.entries(servers).map(([name, pid]) => isServerProcess(pid, join(dataDir, name)))
    return !(await Promise.all(works)).includes(true)
  })

test('local servers stop with the process, even if a second Ctrl-C ends the process immediately', async () => {
  const service = start()
  await eventually('the log line "listening"', () => service.output().includes('"listening"'))
  const servers = await pids()
  expect(await isServerProcess(servers.postgres!, join(dataDir, 'postgres'))).toBe(true)
  service.signal('SIGINT')
  await eventually('the log line "stopping"', () => service.output().includes('"stopping"'))
  service.signal('SIGINT')
  expect((await service.ended).code).toBe(130)
  await untilEnded(servers)
})

const steps = {
  'creating the cluster': 'postgres.new',
  'starting Postgres': 'postgres.log',
  'starting Redis': 'redis.log',
}

test.each(Object.entries(steps))('SIGTERM stops local servers during the start: %s', async (step, file) => {
  // The drain time-out is shorter than the start, so the process must abort the start.
  const service = start({ DRAIN_TIMEOUT_MS: '100' })
  await eventually(step, () => existsSync(join(dataDir, file)))
  service.signal('SIGTERM')
  const { code, output } = await service.ended
  expect([code, output]).toEqual([0, expect.not.stringContaining('listening"')])
  await untilEnded(await pids())
  await eventually('the end of all processes', async () => (await processesIn(dataDir)).length === 0)
})

test.each(['1', '2'])('closing the terminal stops local servers; processes: %s', async (WEB_CONCURRENCY) => {
  const env = { DATA_DIR: dataDir, HOST: '127.0.0.1', PORT: '0', WEB_CONCURRENCY }
  const terminal = beginOnTerminal('start', env)
  await eventually('the log line "listening"', () => terminal.output().includes('listening'))
  const servers = await pids()
  expect(await isServerProcess(servers.postgres!, join(dataDir, 'postgres'))).toBe(true)
  terminal.close()
  await untilEnded(servers)
})
