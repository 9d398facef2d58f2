import { type AddressInfo, createServer, type Server } from 'node:net'
import { tickMs } from './connection.ts'
import { deriveKeys } from './handshake.ts'
import type { Ask, ListenerOptions, Log } from './protocol.ts'
import { Served } from './served.ts'
import { within } from '../within.ts'

/** Connections whose handshake is under way, at most: the oldest goes, so that whoever is quick gets in. */
const mostUnknown = 64
/** Whoever knocks often gets one line of the log now and then. */
const betweenLinesMs = 1_000

/** @throws Error when the port cannot be had. */
export async function openListener(
  options: ListenerOptions,
  serve: (asks: Ask[]) => void,
  log: Log,
): Promise<Listener> {
  const listener = new Listener(options, serve, log)
  await listener.open()
  return listener
}

/** Where other processes reach this one. */
export class Listener {
  host = ''
  port = 0
  private readonly server: Server
  private readonly unknown = new Set<Served>()
  private readonly welcome = new Set<Served>()
  private strangers = { count: 0, reason: '' }
  private quietUntil = 0
  private isLeaving = false
  private timer: NodeJS.Timeout | undefined
  private allLeft = () => {}

  constructor(
    private readonly options: ListenerOptions,
    serve: (asks: Ask[]) => void,
    private readonly log: Log,
  ) {
    const keys = deriveKeys(options.secrets)
    const events = {
      serve,
      log,
      welcomed: (served: Served) => this.welcomed(served),
      ended: (served: Served, reason?: string) => this.ended(served, reason),
    }
    this.server = createServer((socket) => {
      this.unknown.add(new Served(socket, keys, options, events))
      const [oldest] = this.unknown
      if (this.unknown.size > mostUnknown) oldest?.cut('too many at once')
    })
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject)
      this.server.listen(this.options.port, this.options.host, resolve)
    })
    this.server.on('error', (error) => this.log.error({ reason: error.message }, 'cannot take connections'))
    const { address, port } = this.server.address() as AddressInfo
    this.host = address
    this.port = port
    this.timer = setInterval(() => this.tick(), tickMs)
    this.timer.unref()
  }

  /** Tells all: nothing new, please. What is under way, or on its way, is still answered. */
  goodbye(): void {
    this.isLeaving = true
    for (const served of this.welcome) served.goodbye()
  }

  /** Resolves when all who were connected have gone, or when the time is over. */
  async left(timeoutMs: number): Promise<void> {
    if (this.welcome.size === 0) return
    await within(timeoutMs, new Promise<void>((resolve) => (this.allLeft = resolve)))
  }

  async close(): Promise<void> {
    clearInterval(this.timer)
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()))
    for (const served of [...this.unknown, ...this.welcome]) served.cut('this process closes')
    await closed
  }

  private welcomed(served: Served): boolean {
    this.unknown.delete(served)
    this.welcome.add(served)
    return this.isLeaving
  }

  private ended(served: Served, reason: string | undefined): void {
    if (this.unknown.delete(served) && reason) this.strangers = { count: this.strangers.count + 1, reason }
    if (this.welcome.delete(served) && this.welcome.size === 0) this.allLeft()
  }

  private tick(): void {
    for (const served of [...this.unknown, ...this.welcome]) served.tick()
    if (this.strangers.count === 0 || performance.now() < this.quietUntil) return
    this.log.warn(this.strangers, 'turned strangers away')
    this.strangers = { count: 0, reason: '' }
    this.quietUntil = performance.now() + betweenLinesMs
  }
}
