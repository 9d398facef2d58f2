import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { withConnections } from '../../drizzle/migrate.ts'
import { isServerProcess } from '../../src/local/server.ts'
import { eventually, freshEnv, mainFile, make, newFolder, openClient, openForEach, register } from '../kit.ts'
import { runtimeOptions, spawnService } from '../kit.ts'
import { begin, beginOnTerminal, readiness, run } from './launch.ts'
import { spawnSupervised } from './supervised-service.ts'

const forEach = openForEach()
let dataDir: string
beforeEach(async () => void (dataDir = await newFolder('docket-own-', forEach)))

const local = { HOST: '127.0.0.1', PORT: '0' }
const start = (env = {}) => begin('start', { DATA_DIR: dataDir, ...local, DRAIN_DELAY_MS: '600000', ...env })

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

test('start in an empty folder serves; data and tokens survive a killed supervisor, and a backup restores them in another folder', async () => {
  const own = { ...local, DATA_DIR: join(dataDir, 'one') }
  const first = await forEach(spawnSupervised('start', own))
  await eventually('Redis to be available', async () => (await readiness(first.url)).body.redis === 'ok')
  expect(await readiness(first.url)).toMatchObject({ status: 200, body: { postgres: 'ok' } })
  const ada = await register(openClient(first.url))
  const project = await make(ada, '/projects', { name: 'Kept' })
  // npm runs the command in the folder of package.json; INIT_CWD is the folder of the user.
  const backup = await run('admin', { ...own, INIT_CWD: dataDir }, 'backup', 'docket.backup')
  const file = join(dataDir, 'docket.backup')
  expect(backup).toEqual({
    code: 0,
    output: expect.stringContaining(`${file}. Keep ${join(own.DATA_DIR, 'jwt-secret')} too`),
  })
  const jobs = expect.stringMatching(/^0 dead letters, \d jobs? waiting or running\n$/)
  expect(await run('jobs', own)).toEqual({ code: 0, output: jobs })
  expect(await first.stop('SIGKILL')).toBe(null)
  await first.ended()

  const second = await spawnService('start', own)
  expect((await ada.at(second.url).get(`/projects/${project.id}`)).body).toEqual(project)
  expect(await second.stop()).toBe(0)
  await eventually('the end of all processes', async () => (await processesIn(own.DATA_DIR)).length === 0)
  // If root copies the folder, all files belong to root.
  const copy = { DATA_DIR: join(dataDir, 'copy') }
  await cp(own.DATA_DIR, copy.DATA_DIR, { recursive: true })
  expect((await run('admin', copy, 'projects')).output).toContain(project.id)
  const other = { DATA_DIR: join(dataDir, 'other') }
  expect(await run('admin', other, 'restore', file)).toEqual({ code: 0, output: 'The backup is restored\n' })
  expect((await run('admin', other, 'projects')).output).toContain(project.id)
}, 300_000)

/** Runs `admin backup` in a shell. */
async function backUp(env: Record<string, string>, shell: (command: string) => string) {
  const words = [process.execPath, ...runtimeOptions, mainFile, 'admin', 'backup']
  const command = shell(words.map((word) => `'${word}'`).join(' '))
  return promisify(execFile)('sh', ['-c', command], { env }).then(
    ({ stdout }) => ({ code: 0, text: stdout }),
    ({ code, stderr }) => ({ code, text: stderr }),
  )
}

test('a backup to standard output is only the backup; a full disk is named, and no file remains', async () => {
  const { env } = await forEach(freshEnv())
  await withConnections(
    env.DATABASE_URL!,
    (sql) => sql`
      insert into idempotency_keys (scope, key, fingerprint, status, body)
      select 'scope', g::text, md5(g::text), 201, md5(random()::text) from generate_series(1, 20000) g`,
  )
  const file = join(dataDir, 'cut.backup')
  // A file may have 64 KiB, as if the rest of the disk was full.
  const cut = await backUp(env, (command) => `ulimit -f 128; trap '' XFSZ; exec ${command} ${file}`)
  expect(cut).toEqual({ code: 1, text: expect.stringContaining(`${file} or its disk cannot be used: EFBIG`) })
  await expect(stat(file)).rejects.toThrow('ENOENT')
  const full = await backUp(env, (command) => `exec ${command} - > /dev/full`)
  expect(full).toEqual({
    code: 1,
    text: expect.stringMatching(/^standard output or its disk cannot be used: ENOSPC/),
  })
  const lines = `{ sleep 1; gunzip | sed -n '1p;$p'; }`
  const slow = await backUp(env, (command) => `${command} - | ${lines}`)
  expect(slow).toEqual({
    code: 0,
    text: expect.stringMatching(/^-- docket backup 1, .*\n-- end of the docket backup\n$/),
  })
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
  const terminal = beginOnTerminal('start', { DATA_DIR: dataDir, ...local, WEB_CONCURRENCY })
  await eventually('the log line "listening"', () => terminal.output().includes('listening'))
  const servers = await pids()
  expect(await isServerProcess(servers.postgres!, join(dataDir, 'postgres'))).toBe(true)
  terminal.close()
  await untilEnded(servers)
})
