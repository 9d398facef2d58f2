import type { Redis } from 'ioredis'
import type { Peer } from './rpc.ts'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { disconnect, openSubscriber, type RedisClient } from '../redis/connections.ts'
import { assignScript, beatScript, leaveScript, readScript } from './directory-scripts.ts'

/** Who is alive, by id and in order of ids, and the process that was given each shard. */
export interface Known {
  peers: Map<string, Peer>
  assigned: string[]
}

type DirectoryConfig = Pick<Config, 'redisUrl' | 'redisPrefix' | 'writeHomes'>

/** The one place where processes find each other. Redis may be away or come back empty: then they remember. */
export class Directory {
  private readonly subscriber: Redis
  private readonly channel: string
  private readonly living: string
  private readonly assignment: string
  /** What Redis said last, word for word. */
  private last = { assignment: '', living: [] as string[] }

  /** Tells when something may have changed there; that may be lost. */
  constructor(
    private readonly redis: RedisClient,
    config: DirectoryConfig,
    log: Log,
    onChange: () => void,
  ) {
    // One hash tag, so that a Redis Cluster keeps what one script touches in one place. The name changes with the protocol
    // of rpc.ts: processes that could not talk to each other do not see each other.
    const name = `${config.redisPrefix}:{homes-2}`
    this.channel = `${name}:channel`
    this.living = `${name}:living`
    // Processes that count shards differently, as while this setting is changed, do not overrule each other.
    this.assignment = `${name}:of-${config.writeHomes}`
    this.subscriber = openSubscriber(config.redisUrl, log)
    redis.on('ready', onChange)
    this.subscriber.on('message', onChange)
    this.subscriber.on('ready', () => void this.subscriber.subscribe(this.channel).then(onChange, () => {}))
  }

  /** Says that this process lives, when it is one that can be asked. @throws when Redis is away. */
  async look(me: Peer | undefined): Promise<Known> {
    this.subscriber.ping().catch(() => {}) // a line that has gone silent is noticed by what it owes
    const [assignment = '', ...living] = me ? await this.beat(JSON.stringify(me)) : await this.read()
    this.last = { assignment, living }
    return { peers: peersIn(living), assigned: idsIn(assignment) }
  }

  /** True unless somebody else was quicker. @throws when Redis is away. */
  async assign(wanted: string[]): Promise<boolean> {
    const text = nextAfter(this.last.assignment, wanted)
    const keys = [this.assignment, this.channel, this.last.assignment]
    const isTaken = (await this.redis.eval(assignScript, 1, ...keys, text)) === 1
    if (isTaken) this.last.assignment = text
    return isTaken
  }

  /** @throws when Redis is away. */
  async leave(me: Peer): Promise<void> {
    await this.redis.eval(leaveScript, 1, this.living, this.channel, JSON.stringify(me))
  }

  close(): void {
    disconnect(this.subscriber)
  }

  private async beat(me: string): Promise<string[]> {
    const { assignment, living } = this.last
    const others = living.filter((one) => one !== me)
    const args = [this.living, this.assignment, this.channel, me, assignment, ...others]
    return (await this.redis.eval(beatScript, 2, ...args)) as string[]
  }

  private async read(): Promise<string[]> {
    return (await this.redis.eval(readScript, 2, this.living, this.assignment)) as string[]
  }
}

/** Other versions may have written there: what is not understood is not seen. */
function peersIn(living: string[]): Map<string, Peer> {
  const peers = living.map(parsed).filter(isPeer)
  return new Map(peers.sort((a, b) => (a.id < b.id ? -1 : 1)).map((peer) => [peer.id, peer]))
}

const numbered = /^(\d{1,9}) (.*)$/s

function nextAfter(assignment: string, wanted: string[]): string {
  const revision = Number(numbered.exec(assignment)?.[1] ?? 0)
  return `${(revision % 999_999_999) + 1} ${JSON.stringify(wanted)}`
}

function idsIn(assignment: string): string[] {
  const ids = parsed(numbered.exec(assignment)?.[2] ?? '')
  return Array.isArray(ids) && ids.every((id) => typeof id === 'string') ? ids : []
}

function isPeer(value: unknown): value is Peer {
  const { id, host, port } = (value ?? {}) as Record<string, unknown>
  const isPort = Number.isInteger(port) && Number(port) > 0 && Number(port) <= 65_535
  return typeof id === 'string' && typeof host === 'string' && host !== '' && isPort
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
