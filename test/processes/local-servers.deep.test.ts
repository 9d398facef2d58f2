import { beforeEach, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isServerProcess } from '../../src/local/process.ts'
import { eventually } from '../races/pair.ts'
import { runtimeOptions, newFolder, openForEach } from '../support/service.ts'
import { begin } from './launch.ts'

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

/** The command lines that name the folder: also of a server that has not written its pid yet. */
async function processesIn(dir: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const lines = pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''))
  return (await Promise.all(lines)).filter((line) => line.includes(dir))
}

const gone = (servers: Record<string, number>) =>
  eventually('the servers are gone', async () => {
    const works = Object.entries(servers).map(([name, pid]) => isServerProcess(pid, join(dataDir, name)))
    return !(await Promise.all(works)).includes(true)
  })

test('they end with the process also when a second Ctrl-C ends it at once', async () => {
  const service = start()
  await eventually('it serves', () => service.output().includes('"listening"'))
  const servers = await pids()
  expect(await isServerProcess(servers.postgres!, join(dataDir, 'postgres'))).toBe(true)
  service.signal('SIGINT')
  await eventually('it drains', () => service.output().includes('"stopping"'))
  service.signal('SIGINT')
  expect((await service.ended).code).toBe(130)
  await gone(servers)
})

/** How far the start has come, by what it leaves in the data folder. */
const steps = {
  'a cluster is made': 'postgres.new',
  'Postgres starts': 'postgres.log',
  'Redis starts': 'redis.log',
}

test.each(Object.entries(steps))(
  'they end also when the process is told to stop while they start: %s',
  async (step, file) => {
    // A start may take minutes on a busy machine: it is given up, and not waited for.
    const service = start({ DRAIN_TIMEOUT_MS: '100' })
    await eventually(step, () => existsSync(join(dataDir, file)))
    service.signal('SIGTERM')
    const { code, output } = await service.ended
    expect({ code, output, served: output.includes('listening"') }).toEqual({
      code: 0,
      output,
      served: false,
    })
    await gone(await pids())
    await eventually('no process is left', async () => (await processesIn(dataDir)).length === 0)
  },
)

test.each(['1', '2'])(
  'they end with a terminal that is closed, of %s web processes',
  async (WEB_CONCURRENCY) => {
    const main = new URL('../../src/main.ts', import.meta.url).pathname
    const line = ['exec', process.execPath, ...runtimeOptions, main, 'start'].join(' ')
    const terminal = spawn('script', ['--quiet', '--flush', '--command', line, '/dev/null'], {
      env: { PATH: process.env.PATH, DATA_DIR: dataDir, HOST: '127.0.0.1', PORT: '0', WEB_CONCURRENCY },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    let output = ''
    terminal.stdout.on('data', (chunk: Buffer) => (output += chunk))
    await eventually('it serves', () => output.includes('listening'))
    const servers = await pids()
    expect(await isServerProcess(servers.postgres!, join(dataDir, 'postgres'))).toBe(true)
    terminal.kill('SIGKILL')
    await gone(servers)
  },
)
