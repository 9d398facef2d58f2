import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { openLog } from '../../src/logger.ts'
import { until } from '../../src/local/server.ts'
import { openServices } from '../../src/services.ts'
import { commands } from '../../modules/commands.ts'
import { react } from '../../workers/reactions.ts'
import { startWorkers } from '../../workers/main.ts'
import { openClient } from './client.ts'
import { emptyTables, freshDatabase } from './database.ts'
import { sharedRedisPrefix } from './redis.ts'

export const testSecret = 'a secret that is only good for tests'
type Env = Record<string, string>
/** Prevents `.env` from changing the settings of a test. */
export const runtimeOptions = ['--no-env-file']

/** Returns the environment of a service, with a new database (unless `overrides` has one) and a new Redis prefix. */
export async function freshEnv(overrides: Env = {}): Promise<{ env: Env; drop(): Promise<void> }> {
  const database = overrides.DATABASE_URL ? undefined : await freshDatabase()
  const redis = sharedRedisPrefix()
  const env = {
    DATABASE_URL: database?.url ?? '',
    REDIS_URL: redis.url,
    REDIS_PREFIX: redis.prefix,
    // Tests run beside other tests on few cores, and no test stops the shared Redis.
    ...(!overrides.REDIS_URL && { REDIS_TIMEOUT_MS: '30000' }),
    ...{ READ_TIMEOUT_MS: '60000', BACKGROUND_TIMEOUT_MS: '60000' },
    JWT_SECRET: testSecret,
    LOG_LEVEL: 'error',
    HOST: '127.0.0.1',
    PORT: '0',
    SWEEP_EVERY_MS: '200',
    // Webhook receivers of tests listen on loopback.
    WEBHOOK_ALLOW_HTTP: 'on',
    WEBHOOK_ALLOW_PRIVATE: 'on',
    INVITATIONS_PER_HOUR: '1000000',
    ...overrides,
  }
  return { env, drop: async () => database?.drop() }
}

export type TestService = Awaited<ReturnType<typeof openTestService>>

/** Opens a service in the process of the test, without a socket. With the `env` of another service, both share data. */
export async function openTestService(overrides: Env = {}) {
  const { env, drop } = await freshEnv(overrides)
  const config = readConfig(env)
  const services = openServices(config, openLog(config.logLevel), { commands, react })
  let app: ReturnType<typeof createApp>
  // Created at the first request, so that a test may replace parts of `services` before.
  const answer = async (request: Request) => (app ??= createApp(services)).fetch(request)
  const stops: (() => Promise<void>)[] = []
  const stopWorkers = async () => {
    for (const stop of stops.splice(0)) await stop()
  }
  return disposable({
    services,
    env,
    client: openClient('http://localhost', undefined, answer),
    fetch: (path: string, init?: RequestInit) => answer(new Request(`http://localhost${path}`, init)),
    /** Starts the workers too; they stop with the service. */
    startWorkers: () => void stops.push(startWorkers(services)),
    stopWorkers,
    async close() {
      await stopWorkers()
      await services.close()
      await drop()
    },
  })
}

let shared: ReturnType<typeof openTestService> | undefined

/** Returns the service with default settings that the files of this process share, with an empty database. */
export async function openSharedService(): Promise<TestService> {
  const service = await (shared ??= openTestService())
  await emptyTables(service.services.database.background)
  return disposable({ ...service, close: service.stopWorkers })
}

export async function withService(env: Env, work: (service: TestService) => Promise<void>): Promise<void> {
  await using service = await openTestService(env)
  if (!env.REDIS_URL) await untilRedisReady(service)
  await work(service)
}

/** Waits until Redis is connected. Before, the process counts requests in its own memory. */
export async function untilRedisReady({ services }: Pick<TestService, 'services'>): Promise<void> {
  await until(() => services.redisStatus() === 'ready' || undefined, 30_000, { everyMs: 10 })
}

/** Returns `withService` for services that use one database. */
export async function withOneDatabase(): Promise<typeof withService> {
  const { url } = await forFile(freshDatabase())
  return (env, work) => withService({ DATABASE_URL: url, ...env }, work)
}

export const disposable = <T extends { close(): Promise<void> }>(one: T): T & AsyncDisposable =>
  Object.assign(one, { [Symbol.asyncDispose]: () => one.close() })

const endings = ['close', 'stop', 'drop', 'end'] as const
type Ending = (typeof endings)[number]
type Opened = { [E in Ending]: Record<E, () => unknown> }[Ending]
const opened: Opened[] = []

/** Closes a resource after all tests of the file, in reverse order of opening. */
export async function forFile<T extends Opened>(opening: T | Promise<T>): Promise<T> {
  const one = await opening
  if (opened.push(one) === 1) afterAll(() => closeAll(opened))
  return one
}

export function openForEach() {
  const all: Opened[] = []
  afterEach(() => closeAll(all))
  return async <T extends Opened>(opening: T | Promise<T>): Promise<T> => {
    const one = await opening
    all.push(one)
    return one
  }
}

async function closeAll(all: Opened[]): Promise<void> {
  for (let one = all.pop(); one; one = all.pop()) {
    const ways = one as Partial<Record<Ending, () => unknown>>
    await ways[endings.find((ending) => ways[ending])!]!()
  }
}

/** Creates an empty folder. `open` decides when the folder is removed, by default after all tests of the file. */
export async function newFolder(name = 'docket-test-', open = forFile): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), name)))
  await open({ close: () => rm(folder, { recursive: true, force: true, maxRetries: 5 }) })
  return folder
}

export const clockShiftedBy = (ms: number): Env => ({
  CLOCK_SHIFT_MS: String(ms),
  BUN_OPTIONS: `--preload ${new URL('./shifted-clock.ts', import.meta.url).pathname}`,
})

/** The file that starts the service: src/main.ts or, in a run of all files, its bundle. */
export const mainFile = process.env.TEST_MAIN_FILE ?? new URL('../../src/main.ts', import.meta.url).pathname

export type ServiceProcess = Awaited<ReturnType<typeof spawnService>>

/** Starts a command of the service, and waits until the process accepts requests or, as a worker, jobs. */
export async function spawnService(
  command: 'start' | 'web' | 'worker',
  env: Env,
  options: string[] = [],
  file = mainFile,
) {
  const child = spawn(process.execPath, [...runtimeOptions, ...options, file, command], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env, LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const output: string[] = []
  const url = await firstUrl(child, output, command)
  /** Sends a signal and returns the exit code, or null if a signal ended the process. */
  const stop = (name: NodeJS.Signals = 'SIGTERM') => {
    child.kill(name)
    return exited
  }
  const signal = (name: NodeJS.Signals) => void child.kill(name)
  return { url, pid: child.pid as number, signal, stop, close: () => stop('SIGKILL'), exited, output }
}

function firstUrl(child: ChildProcess, output: string[], command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${command} ended with ${code}: ${output.join('\n')}`)))
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream! }).on('line', (line) => {
        output.push(line)
        if (output.length > 1_000) output.shift()
        // The response of 500 does not contain its cause.
        if (line.includes('"request failed"')) console.error(line)
        const { msg, api } = line.startsWith('{') ? JSON.parse(line) : { msg: '', api: '' }
        if (msg === 'listening') resolve(api.replace(/\/api\/v1$/, ''))
        if (msg === 'working' && command === 'worker') resolve('')
      })
    }
  })
}
