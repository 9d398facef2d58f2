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
  const client = new RpcClient(options, log)
  let server: RpcServer | undefined
  let homes: Homes | undefined
  return {
    route: openRoute(
      (projectId) => homes?.homeOf(projectId, (id) => client.isUsable(id)),
      (peer, payload, deadline) => client.call(peer, payload, deadline),
      execute,
      counts,
    ),
    async join(asHome) {
      if (config.writeHomes === 0) return // every process executes what it is sent
      const serve = openServe({ ...means, ttlMs: config.writeTimeoutMs })
      if (asHome) server = new RpcServer(crypto.randomUUID(), options, serve, log)
      const me = await server?.listen(config.homeHost, config.homePort)
      homes = new Homes(redis, config, me, log)
    },
    async leave(timeoutMs) {
      await homes?.leave()
      await server?.leave(timeoutMs)
    },
    async close() {
      homes?.close()
      client.close()
      await server?.close()
    },
  }
}
