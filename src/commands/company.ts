import type { Scheduler } from '../admission/scheduler.ts'
import type { Config } from '../config.ts'
import { secretsIn } from '../setting-values.ts'
import { Homes } from '../routing/homes.ts'
import { ownAddress } from '../routing/own-address.ts'
import { RpcClient } from '../routing/rpc-client.ts'
import { openRpcServer, type RpcServer } from '../routing/rpc-server.ts'
import type { Log } from '../log.ts'
import type { Counts } from '../metrics/counts.ts'
import { type Deliver, openDeliver } from './deliver.ts'
import type { Perform } from './perform.ts'
import type { Registry } from './registry.ts'
import { openServeOrders } from './serve-orders.ts'
import type { RedisClient } from '../redis/connections.ts'

const maxUnsentBytes = 16_777_216

/** The processes that write together, each the home of some projects. Until it joins them, a process does all itself. */
export interface Company {
  deliver: Deliver
  /** Learns where projects are at home; `asHome`, projects may be at home here. */
  join(asHome: boolean): Promise<void>
  /** Lets others take over, and does what they still ask until they all know, at most `timeoutMs`. */
  leave(timeoutMs: number): Promise<void>
  close(): Promise<void>
}

interface Means {
  config: Config
  redis: RedisClient
  registry: Registry
  perform: Perform
  scheduler: Scheduler
  /** From then on this process begins nothing. */
  isClosing(): boolean
  log: Log
  counts: Counts['orders']
}

export function openCompany(means: Means): Company {
  const { config, redis, perform, log, counts } = means
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
    deliver: openDeliver({
      homeOf: (projectId) => homes?.homeOf(projectId, (id) => client.isUsable(id)),
      call: (peer, payload, deadline) => client.call(peer, payload, deadline),
      perform,
      counts,
    }),
    async join(asHome) {
      if (config.writeHomes === 0) return // every process writes what it is asked
      const id = crypto.randomUUID()
      const { homeHost: host, homePort: port } = config
      const serve = openServeOrders({ ...means, ttlMs: config.writeTimeoutMs })
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
