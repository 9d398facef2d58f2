import { type ChildProcess, spawn } from 'node:child_process'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Log } from '../logger.ts'
import { type Family, withProcessLabel } from '../metrics/counts.ts'
import { within } from '../waits.ts'
import { urlsOf } from './port.ts'
import type { Shutdown } from './shutdown.ts'
import type { Context } from './start.ts'

/** Time for a child to exit, added to the time of its drain. */
const graceMs = 4_000
/** A child drains its server, its workers and its services one after another. */
const drainSteps = 3

/** @param onPort called when the port is known, also if the system chooses the port */
export function openSupervisor(context: Context, env: Record<Role, Env>, onPort: (port: number) => void) {
  const { command, config, log, shutdown } = context
  const { drainDelayMs, drainTimeoutMs, host, webConcurrency } = config
  const stopTimeoutMs = drainDelayMs + drainSteps * drainTimeoutMs + graceMs
  let { port } = config
  const open = (role: Role, n: number) => {
    const start = () => startChild(role, { ...env[role], PORT: String(port) })
    return { name: `${role}-${n + 1}`, ...openPlace(role, start, log, shutdown, stopTimeoutMs) }
  }
  const web = Array.from({ length: webConcurrency }, (_, n) => open('web', n))
  const worker = command === 'start' ? [open('worker', 0)] : []
  const all = [...web, ...worker]
  const pids = () => ({ web: web.map((place) => place.pid()), worker: worker.map((place) => place.pid()) })

  async function stop(): Promise<void> {
    const ends = await Promise.all(all.map((place) => place.stop()))
    if (ends.includes(false)) throw new Error('a child process failed to stop')
  }

  async function replaceAll(): Promise<void> {
    for (const place of all) {
      if (await shutdown.unlessStopping(place.replace())) continue
      return log.error('a new process did not start: the current processes keep running')
    }
    log.info(pids(), 'rolling restart finished')
  }

  return {
    async start(): Promise<void> {
      shutdown.onClose('processes', stop, { withinMs: stopTimeoutMs + graceMs })
      process.on('exit', () => all.forEach((place) => place.kill()))
      let rolling = Promise.resolve()
      shutdown.onHangUp(() => {
        log.info({ signal: 'SIGHUP' }, 'rolling restart')
        rolling = rolling.then(replaceAll)
      })
      if (port > 0) onPort(port)
      // The first child starts alone: it logs an error that every child would log, and reports the port that the system
      // chose.
      const [first, ...others] = all
      const ready = await shutdown.unlessStopping(first!.start())
      if (ready?.port && port === 0) onPort(ready.port)
      port = ready?.port ?? port
      const rest = ready && (await shutdown.unlessStopping(Promise.all(others.map((place) => place.start()))))
      if (rest?.every(Boolean))
        log.info({ ...urlsOf({ host, port }), pid: process.pid, ...pids() }, 'listening')
    },

    /** The label is the name of the place, because a process id would change at each restart. */
    measure: (): Promise<Family[][]> =>
      Promise.all(all.map(async ({ name, measure }) => withProcessLabel(name, await measure()))),
  }
}

const stableMs = 1_000
const maxFailedStarts = 6
const minPauseMs = 100

/** The place of one child process, which is restarted after a crash. */
function openPlace(role: Role, spawn: () => Child, log: Log, shutdown: Shutdown, stopTimeoutMs: number) {
  const alive = new Set<Child>()
  let current: Child | undefined
  let [hasBeenUp, isStopping, failedStarts] = [false, false, 0]

  function startOne(): Child {
    const child = spawn()
    alive.add(child)
    void child.exited.then(() => alive.delete(child))
    return child
  }

  async function start() {
    const child = startOne()
    void keepRunning(child)
    const ready = await child.ready
    hasBeenUp ||= ready !== undefined
    return ready
  }

  /** Starts the child again after a crash, unless another child replaces it. */
  async function keepRunning(child: Child): Promise<void> {
    current = child
    const isObsolete = () => isStopping || child !== current
    const exit = await child.exited
    if (isObsolete()) return
    failedStarts = child.uptimeMs() < stableMs ? failedStarts + 1 : 0
    if (!hasBeenUp || failedStarts >= maxFailedStarts) return giveUp(role, exit, failedStarts, shutdown)
    const restartInMs = minPauseMs * 2 ** failedStarts
    log.error({ ended: child.pid, ...exit, restartInMs }, 'a child process ended unexpectedly')
    await sleep(restartInMs)
    if (isObsolete()) return
    if (await start()) log.info({ started: current.pid }, 'the child process was replaced')
  }

  return {
    start,
    pid: () => current?.pid,
    measure: async () => (await current?.measure()) ?? [],
    kill: () => alive.forEach((child) => child.kill()),

    async replace(): Promise<boolean> {
      const successor = startOne()
      if (!(await successor.ready)) return false
      const previous = current
      void keepRunning(successor)
      await previous?.stop('retire', stopTimeoutMs)
      return true
    },

    /** Returns false if a process did not exit with code 0. */
    async stop(): Promise<boolean> {
      isStopping = true
      const ends = [...alive].map((child) => child.stop('stop', stopTimeoutMs))
      return (await Promise.all(ends)).every(({ code }) => code === 0)
    },
  }
}

/** A child that cannot start for the first time has printed the reason. */
function giveUp(role: Role, { code }: Exit, starts: number, shutdown: Shutdown): Promise<void> {
  if (starts === 1 && code !== null) return shutdown.stop(1)
  return shutdown.fail(new Error(`The ${role} process ended right after its start, ${starts} times`))
}

export function childEnvs(config: Config, given: Env): Record<Role, Env> {
  const { databaseUrl: DATABASE_URL, redisUrl: REDIS_URL, jwtSecret: JWT_SECRET } = config
  const common = { WEB_CONCURRENCY: '1', REUSE_PORT: 'on', HOME_PORT: '0' }
  const worker = { ...given, DATABASE_URL, REDIS_URL, JWT_SECRET, ...common }
  return { web: { ...sharedPools(config), ...worker }, worker }
}

/** With six web processes, at most 88 connections exist, even during a restart. Postgres allows 100 by default. */
const fullProcesses = 6

/** Returns the default pool sizes of a web process. Beyond six processes, the total of connections no longer grows. */
export function sharedPools(config: Config) {
  const { webConcurrency, readConnections, backgroundConnections, commitSlots } = config
  const share = (all: number) =>
    String(Math.max(1, Math.min(all, Math.floor((all * fullProcesses) / webConcurrency))))
  return {
    READ_CONNECTIONS: share(readConnections),
    BACKGROUND_CONNECTIONS: share(backgroundConnections),
    COMMIT_SLOTS: share(commitSlots),
  }
}

/** Marks a child of a supervisor. The word never changes, because the parent may run an older release. */
const childArgument = 'led'

/** `retire`: stop, because a successor is ready. */
type ParentMessage = 'stop' | 'retire' | 'measure'
type MetricsMessage = { families: Family[] }
type ReadyMessage = { port?: number }

const readyTimeoutMs = 60_000
const metricsTimeoutMs = 2_000

type Role = 'web' | 'worker'
type Env = Record<string, string | undefined>
type Exit = { code: number | null; signal: string | null }
type Child = ReturnType<typeof startChild>

function startChild(role: Role, env: Env) {
  const command = [...process.execArgv, process.argv[1] ?? '', role, childArgument]
  const child = spawn(process.execPath, command, { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const kill = () => void child.kill('SIGKILL')
  const killAfter = <T>(work: Promise<T>, withinMs: number): Promise<T> => {
    const late = setTimeout(kill, withinMs)
    return work.finally(() => clearTimeout(late))
  }
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.once('error', (error) => child.pid ?? resolve({ code: null, signal: error.message }))
  })
  let readyAt = Infinity
  const started = nextMessage<ReadyMessage>(child)
  void started.then(() => (readyAt = performance.now()))
  return {
    pid: child.pid ?? 0,
    exited,
    kill,
    /** Resolves to undefined if the process ends before it is ready. */
    ready: killAfter(Promise.race([started, exited.then(() => undefined)]), readyTimeoutMs),
    uptimeMs: () => Math.max(0, performance.now() - readyAt),

    stop(message: ParentMessage, withinMs: number): Promise<Exit> {
      send(child, message)
      return killAfter(exited, withinMs)
    },

    async measure(): Promise<Family[]> {
      if (readyAt === Infinity) return []
      const message = nextMessage<MetricsMessage>(child)
      send(child, 'measure')
      return (await within(metricsTimeoutMs, message))?.families ?? []
    },
  }
}

const nextMessage = <T>(child: ChildProcess) =>
  new Promise<T>((resolve) => child.once('message', (message) => resolve(message as T)))

function send(child: ChildProcess, message: ParentMessage): void {
  if (child.connected) child.send(message, () => {})
}

export const isChild = (args: string[]): boolean => args[0] === childArgument && process.connected

export const sendToParent = (message: ReadyMessage | MetricsMessage): void => void process.send?.(message)

export function handleParentMessages(shutdown: Shutdown, measure: () => Promise<Family[]>): void {
  const handlers: Record<ParentMessage, () => Promise<void>> = {
    measure: () => measure().then((families) => sendToParent({ families })),
    stop: () => shutdown.stop(0),
    retire: () => shutdown.retire(),
  }
  process.on('message', (message: ParentMessage) => void handlers[message]())
  process.on('disconnect', () => void shutdown.fail(new Error('The parent process has ended')))
  // A terminal sends SIGHUP to all processes, but only the parent handles it.
  process.on('SIGHUP', () => {})
}
