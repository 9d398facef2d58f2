import type { Scheduler } from '../admission/scheduler.ts'
import type { Config } from '../config.ts'
import { secretsIn } from '../setting-values.ts'
import { Homes } from '../routing/homes.ts'
import { ownAddress } from '../routing/own-address.ts'
import { RpcClient } from '../routing/rpc-client.ts'
import { openRpcServer, type RpcServer } from '../routing/rpc-server.ts'
import type { Log } from '../log.ts'
import type { Counts } from '../metrics/counts.ts'
import type { Execute } from './execute.ts'
import type { Registry } from './registry.ts'
import { openRoute } from './route.ts'
import { openServe } from './serve.ts'
import type { RedisClient } from '../redis/connections.ts'

const maxUnsentBytes = 16_777_216

/** The processes that write together, each the home of some projects. Until it joins, a process executes every command itself. */
export interface Router {
  route: Execute
  /** Learns where projects are at home; `asHome`, projects may be at home here. */
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
  /** From then on this process begins nothing new. */
  isClosing(): boolean
  log: Log
  counts: Counts['orders']
}

export function openRouter(means: Means): Router {
  const { config, redis, execute, log, counts } = means
  const options = {
    secrets: secretsIn(config.jwtSecret),
    maxBytes: 4 * config.bodyBytes + 1_048_576, // a body within JSON within JSON
    maxUnsentBytes,
    maxPending: config.waitingCommands,
  }
  const client = new RpcClient(options, log)
  let server: RpcServer | undefined
  let homes: Homes | undefined
  return {
    route: openRoute({
      homeOf: (projectId) => homes?.homeOf(projectId, (id) => client.isUsable(id)),
      call: (peer, payload, deadline) => client.call(peer, payload, deadline),
      execute,
      counts,
    }),
    async join(asHome) {
      if (config.writeHomes === 0) return // every process executes what it is sent
      const id = crypto.randomUUID()
      const { homeHost: host, homePort: port } = config
      const serve = openServe({ ...means, ttlMs: config.writeTimeoutMs })
      if (asHome) server = await openRpcServer({ ...options, id, host, port }, serve, log)
      const me = server && { id, host: ownAddress(host), port: server.port }
      homes = new Homes(redis, config, me, log)
      homes.start()
    },
    async leave(timeoutMs) {
      await homes?.leave()
      server?.goodbye()
      await server?.left(timeoutMs)
    },
    async close() {
      homes?.close()
      client.close()
      await server?.close()
    },
  }
}
