import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Permit, Scheduler } from '../admission/fair-queue.ts'
import type { Config } from '../config.ts'
import { isId } from '../id-format.ts'
import { newId } from '../ids.ts'
import type { Log } from '../logger.ts'
import { newForwardCounts } from '../metrics/counts.ts'
import { toHttpError } from '../postgres/errors.ts'
import type { RedisClient } from '../redis/connections.ts'
import { notFound, outcomeUnknown, HttpError } from '../responses/errors.ts'
import type { Reply } from '../responses/reply.ts'
import { type Home, Placement } from '../routing/placement.ts'
import { RpcClient, ConnectionLost } from '../routing/rpc-client.ts'
import { RpcServer, toRpcError } from '../routing/rpc-server.ts'
import type { RpcRequest, RpcResponse } from '../routing/rpc.ts'
import { secretsIn } from '../setting-values.ts'
import type { Command, CommandRequest, RoutedCommand } from './command.ts'
import { idIn, targetNoun, clientIdIn } from './decide.ts'
import type { Execute } from './execute.ts'
import type { RowLocations } from './row-locations.ts'

export interface Registered {
  command: Command
  /** A digest of the input schema and the scope. A process of another release rejects a command whose form differs. */
  form: string
}

export type Registry = ReadonlyMap<string, Registered>

export function registryOf(commands: Command[]): Registry {
  const registry = new Map(commands.map((command) => [command.name, { command, form: formOf(command) }]))
  if (registry.size < commands.length) throw new Error('Two commands have the same name')
  return registry
}

/** Increases with each incompatible change of RoutedCommand. */
const routedVersion = '4'

const formOf = ({ input, scope }: Command): string =>
  createHash('sha256')
    .update(routedVersion + scope + JSON.stringify(input))
    .digest('base64url')
    .slice(0, 8)

/** Runs a command by name at its project's home, and returns the reply once the commit is durable. */
export type Run = (request: CommandRequest) => Promise<Reply>

interface RunDependencies {
  registry: Registry
  rowLocations: RowLocations
  route: Execute
  timeoutMs: number
}

export function openRun({ registry, rowLocations, route, timeoutMs }: RunDependencies): Run {
  return (request) => {
    const { name, input } = request
    const registered = registry.get(name)
    if (!registered) return Promise.reject(new Error(`There is no command ${name}`))
    const { command, form } = registered
    const { target } = command
    const destinationId = command.destination?.(input)
    if (destinationId !== undefined && !isId(destinationId)) return Promise.reject(notFound('Project'))
    const deadline = performance.now() + timeoutMs
    const send = (projectId: string) => route(command, { ...request, form, id: newId(), projectId }, deadline)
    if (target.kind === 'new') return send(clientIdIn(command, input) ?? newId())
    const id = idIn(input, target.key)
    if (target.kind === 'project') return isId(id) ? send(id) : Promise.reject(notFound('Project'))
    return rowLocations.at(target.kind, id, targetNoun(target), (row) => send(row.projectId))
  }
}

const maxRetries = 2

/**
 * The home is only a hint: any process can execute any command, and the compare-and-swap of the commit keeps the data
 * consistent. After a lost connection, the next home gets the same id and searches the log for the id. With at most two
 * retries, a command that crashes its process crashes at most three processes.
 */
export function openRoute(
  homeOf: (projectId: string) => Home | undefined,
  call: RpcClient['call'],
  execute: Execute,
  counts = newForwardCounts(),
): Execute {
  const route = (command: Command, routed: RoutedCommand, deadline: number, retries = 0): Promise<Reply> => {
    const home = homeOf(routed.projectId)
    if (home === undefined || home === 'here') return execute(command, routed, deadline)
    counts.forwarded++
    const answered = (answer: RpcResponse) => {
      if (answer.kind === 'reply') return answer
      if (answer.kind === 'refusal')
        throw new HttpError(answer.status, answer.message, answer.headers, answer.details)
      if (answer.kind === 'failed')
        throw new Error(`${routed.name} failed in the process that writes its project`)
      return execute(command, routed, deadline)
    }
    const failed = (error: unknown) => {
      if (!(error instanceof ConnectionLost)) throw error
      if (!error.sent) return route(command, routed, deadline, retries)
      if (retries >= maxRetries) throw outcomeUnknown()
      return route(command, { ...routed, again: true }, deadline, retries + 1).catch(asUnknown)
    }
    return call(home, routed, deadline).then(answered, failed)
  }
  return route
}

/** The lost process may have committed the command, so an error of the retry does not mean that nothing was written. */
const asUnknown = () => Promise.reject(outcomeUnknown())

/** The largest request body (16 MiB), escaped twice as JSON. */
const maxBytes = 68_157_440
const maxUnsentBytes = 16_777_216

interface RouterDependencies extends Omit<ServeDependencies, 'ttlMs'> {
  config: Config
  redis: RedisClient
  counts: ReturnType<typeof newForwardCounts>
}

/** Routes commands to the homes of their projects. Before `join`, a process executes every command itself. */
export function openRouter(dependencies: RouterDependencies) {
  const { config, redis, execute, log, counts } = dependencies
  const options = {
    secrets: secretsIn(config.jwtSecret),
    maxBytes,
    maxUnsentBytes,
    maxPending: config.waitingCommands,
  }
  let joined: { client: RpcClient; placement: Placement; server?: RpcServer } | undefined
  return {
    route: openRoute(
      (projectId) => joined?.placement.homeOf(projectId, (id) => joined!.client.isUsable(id)),
      (peer, payload, deadline) => joined!.client.call(peer, payload, deadline),
      execute,
      counts,
    ),
    async join(asHome: boolean) {
      if (config.writeShards === 0) return
      const client = new RpcClient(options, log)
      const serve = openServe({ ...dependencies, ttlMs: config.writeTimeoutMs })
      const server = asHome ? new RpcServer(crypto.randomUUID(), options, serve, log) : undefined
      const me = await server?.listen(config.homeHost, config.homePort)
      joined = { client, placement: new Placement(redis, config, me, log), server }
    },
    isHome: (): boolean => joined?.placement.isHome() ?? false,
    /** Returns what the operator must do if other processes are alive but cannot reach this process. */
    problem: () => joined?.placement.problem(),
    leave: (timeoutMs: number) => joined?.placement.leave(timeoutMs),
    async close() {
      joined?.placement.close()
      joined?.client.close()
      await joined?.server?.close()
    },
  }
}

/**
 * The maximum number of remembered ids of retried commands. An id is remembered for the write timeout, because an original that
 * arrives later has missed its deadline.
 */
const maxRetried = 100_000

interface ServeDependencies {
  registry: Registry
  execute: Execute
  /** Limits each account in this process too, because other processes may forward many commands of one account. */
  scheduler: Scheduler
  isClosing(): boolean
  ttlMs: number
  log: Log
}

/**
 * Executes commands that other processes send to this home. Copies of a command in progress share one reply. A copy
 * that arrives later is decided only after a search of the log, even if the retry arrived before the original.
 */
export function openServe(dependencies: ServeDependencies) {
  const { registry, execute, scheduler, isClosing, ttlMs, log } = dependencies
  const inProgressById = new Map<string, { routed: RoutedCommand; done: Promise<Reply> }>()
  const retried = new LRUCache<string, true>({ max: maxRetried, ttl: ttlMs })

  function executeOnce({ command }: Registered, routed: RoutedCommand, deadline: number): Promise<Reply> {
    const inProgress = inProgressById.get(routed.id)
    if (inProgress) {
      inProgress.routed.again ||= routed.again
      return inProgress.done
    }
    if (routed.again) retried.set(routed.id, true)
    else if (retried.size > 0 && retried.has(routed.id)) routed.again = true
    const work = (permit: Permit) => execute(command, routed, deadline).finally(() => permit.release())
    const permit = scheduler.acquire(routed.caller.userId, command.weight?.(routed.input as never))
    const answer = permit instanceof Promise ? permit.then(work) : work(permit)
    const done = answer.finally(() => inProgressById.delete(routed.id))
    inProgressById.set(routed.id, { routed, done })
    return done
  }

  function serve({ payload, deadline, respond }: RpcRequest): void {
    const routed = payload as RoutedCommand | null
    const registered = registry.get(routed?.name ?? '')
    const isKnown = registered !== undefined && registered.form === routed?.form
    if (!routed || !isKnown || isClosing()) return respond({ kind: 'unknown' })
    executeOnce(registered, routed, deadline).then(
      (reply) => respond({ kind: 'reply', ...reply }),
      (error) => respond(errorResponse(log, error)),
    )
  }

  return (requests: RpcRequest[]): void => requests.forEach(serve)
}

function errorResponse(log: Log, error: unknown): RpcResponse {
  const httpError = toHttpError(error)
  if (httpError) return toRpcError(httpError)
  log.error({ err: error }, 'a command from another process failed')
  return { kind: 'failed' }
}
