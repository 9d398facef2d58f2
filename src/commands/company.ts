import type { Scheduler } from '../admission/scheduler.ts'
import { openListener, type Listener } from '../channel/listener.ts'
import { openPeers } from '../channel/peers.ts'
import type { Config } from '../config.ts'
import { secretsIn } from '../setting-values.ts'
import { Homes } from '../home/homes.ts'
import { ownAddress } from '../home/own-address.ts'
import type { Log } from '../log.ts'
import type { Counts } from '../metrics/counts.ts'
import { type Deliver, openDeliver } from './deliver.ts'
import type { Perform } from './perform.ts'
import type { Registry } from './registry.ts'
import { openServeOrders } from './serve-orders.ts'
import type { RedisClient } from '../redis/connections.ts'

const unsentBytes = 16_777_216

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
  const channel = {
    secrets: secretsIn(config.jwtSecret),
    frameBytes: 4 * config.bodyBytes + 1_048_576, // a body within JSON within JSON
    unsentBytes,
    pendingAsks: config.waitingCommands,
  }
  const peers = openPeers(channel, log)
  let listener: Listener | undefined
  let homes: Homes | undefined
  return {
    deliver: openDeliver({
      homeOf: (projectId) => homes?.homeOf(projectId, (id) => peers.isUsable(id)),
      ask: (peer, payload, deadline) => peers.ask(peer, payload, deadline),
      perform,
      counts,
    }),
    async join(asHome) {
      if (config.writeHomes === 0) return // every process writes what it is asked
      const id = crypto.randomUUID()
      const { homeHost: host, homePort: port } = config
      const serve = openServeOrders({ ...means, ttlMs: config.writeTimeoutMs })
      if (asHome) listener = await openListener({ ...channel, me: id, host, port }, serve, log)
      const me = listener && { id, host: ownAddress(host), port: listener.port }
      homes = new Homes(redis, config, me, log)
      homes.start()
    },
    async leave(timeoutMs) {
      await homes?.leave()
      listener?.goodbye()
      await listener?.left(timeoutMs)
    },
    async close() {
      homes?.close()
      await peers.close()
      await listener?.close()
    },
  }
}
