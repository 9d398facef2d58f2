import type { Scheduler } from '../admission/scheduler.ts'
import type { Config } from '../config.ts'
import { secretsIn } from '../setting-values.ts'
import { Homes } from '../routing/homes.ts'
import { RpcClient } from '../routing/rpc-client.ts'
import { RpcServer } from '../routing/rpc-server.ts'
import type { Log } from '../log.ts'
import type { Counts } from '../metrics/counts.ts'
import type { Execute } from './execute.ts'
import type { Registry } from './registry.ts'
import { openRoute } from './route.ts'
import { openServe } from './serve.ts'
import type { RedisClient } from '../redis/connections.ts'

/** The largest body of a request (16 MiB) within JSON within JSON. */
const maxBytes = 68_157_440
const maxUnsentBytes = 16_777_216

/** The processes that write together, each the home of some projects. Until it joins, a process executes every command itself. */
export interface Router {
  route: Execute
  join(asHome: boolean): Promise<void>
  /** Lets other processes take over, and executes what they still send until all of them know, at most `timeoutMs`. */
  leave(timeoutMs: number): Promise<void>
  close(): Promise<void>
}

interface Means {
  config: Config
  redis: RedisClient
  registry: Registry
  execute: Execute
  scheduler: Scheduler
  isClosing(): boolean
  log: Log
  counts: Counts['orders']
}

export function openRouter(means: Means): Router {
  const { config, redis, execute, log, counts } = means
  const options = {
    secrets: secretsIn(config.jwtSecret),
    maxBytes,
    maxUnsentBytes,
    maxPending: config.waitingCommands,
  }
  let joined: { client: RpcClient; homes: Homes; server?: RpcServer } | undefined
  return {
    route: openRoute(
      (projectId) => joined?.homes.homeOf(projectId, (id) => joined!.client.isUsable(id)),
      (peer, payload, deadline) => joined!.client.call(peer, payload, deadline),
      execute,
      counts,
    ),
    async join(asHome) {
      if (config.writeHomes === 0) return // every process executes what it is sent
      const client = new RpcClient(options, log)
      const serve = openServe({ ...means, ttlMs: config.writeTimeoutMs })
      const server = asHome ? new RpcServer(crypto.randomUUID(), options, serve, log) : undefined
      const me = await server?.listen(config.homeHost, config.homePort)
      joined = { client, homes: new Homes(redis, config, me, log), server }
    },
    async leave(timeoutMs) {
      await joined?.homes.leave()
      await joined?.server?.leave(timeoutMs)
    },
    async close() {
      joined?.homes.close()
      joined?.client.close()
      await joined?.server?.close()
    },
  }
}
