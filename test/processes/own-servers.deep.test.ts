import { afterEach, beforeEach, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { worksIn } from '../../src/local/process.ts'
import { eventually } from '../races/pair.ts'
import { runtimeOptions } from '../support/service.ts'
import { begin } from './launch.ts'

let dataDir: string
beforeEach(async () => void (dataDir = await realpath(await mkdtemp(join(tmpdir(), 'docket-own-')))))
afterEach(() => rm(dataDir, { recursive: true, force: true, maxRetries: 3 }))

const start = () =>
  begin('start', { DATA_DIR: dataDir, HOST: '127.0.0.1', PORT: '0', DRAIN_DELAY_MS: '600000' })

async function pids(): Promise<Record<string, number>> {
  const postgres = await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8').catch(() => '0')
  const redis = await readFile(join(dataDir, 'redis/server.json'), 'utf8').catch(() => '{"pid":0}')
  return { postgres: Number(postgres.split('\n')[0]), redis: JSON.parse(redis).pid }
}

const gone = (servers: Record<string, number>) =>
  eventually('the servers are gone', async () => {
    const works = Object.entries(servers).map(([name, pid]) => worksIn(pid, join(dataDir, name)))
    return !(await Promise.all(works)).includes(true)
  })

test('they end with the process also when a second Ctrl-C ends it at once', async () => {
  const service = start()
  await eventually('it serves', () => service.output().includes('"listening"'))
  const servers = await pids()
  expect(await worksIn(servers.postgres!, join(dataDir, 'postgres'))).toBe(true)
  service.signal('SIGINT')
  await eventually('it drains', () => service.output().includes('"stopping"'))
  service.signal('SIGINT')
  expect((await service.ended).code).toBe(130)
  await gone(servers)
})

test('they end also when the process is told to stop while they start', async () => {
  const service = start()
  await eventually('Postgres starts', () => service.output().includes('Creating a Postgres cluster'))
  service.signal('SIGTERM')
  const { code, output } = await service.ended
  expect({ code, served: output.includes('listening"') }).toEqual({ code: 0, served: false })
  await gone(await pids())
})

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
    expect(await worksIn(servers.postgres!, join(dataDir, 'postgres'))).toBe(true)
    terminal.kill('SIGKILL')
    await gone(servers)
  },
)
