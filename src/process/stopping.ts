import process from 'node:process'
import { isatty } from 'node:tty'
import type { Log } from '../log.ts'
import { within } from '../within.ts'

interface Closer {
  what: string
  close(): Promise<void>
  withinMs: number
  /** Begun also at a second signal, because it ends other processes. */
  always: boolean
}

interface Options {
  log: Log
  drainTimeoutMs: number
  /** A signal before its end gives an exit code like a shell's. */
  isErrand: boolean
  isRunByNpm: boolean
  /** A child may get one signal twice, from its parent and from a terminal. The parent kills it in the end. */
  isLed: boolean
}

const numbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }
/** npm repeats the Ctrl-C of a terminal. A human's second one comes later. */
const echoMs = 300
const lastMomentMs = 250

/** Ends the process: in order at the first signal or failure, at once at the second signal. */
export class Stopping {
  private readonly closers: Closer[] = []
  private stopping = false
  private firstAt = 0
  private readonly hadTerminal = isatty(0)
  private hangUp: (() => void) | undefined
  /** Another process serves in its place already. */
  isReplaced = false

  constructor(private readonly options: Options) {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void this.hear(signal))
    if (this.hadTerminal) process.on('SIGHUP', () => this.hearHangUp())
    process.on('uncaughtException', (error) => this.unexpected(error))
    process.on('unhandledRejection', (error) => this.unexpected(error))
  }

  closes(what: string, close: () => Promise<void>, withinMs = this.options.drainTimeoutMs, always = false) {
    this.closers.unshift({ what, close, withinMs, always })
  }

  /** Runs at SIGHUP, unless a closed terminal has sent it: that ends every process. */
  onHangUp(act: () => void): void {
    this.hangUp = act
    if (!this.hadTerminal) process.on('SIGHUP', act)
  }

  /** Closes everything and exits with `code`, or with 1 when something did not close. */
  async stop(code: number): Promise<void> {
    if (this.stopping) return
    this.stopping = true
    let isClean = true
    for (const closer of this.closers) isClean = (await this.closed(closer)) && isClean
    if (code === 0 && isClean && !this.options.isErrand) this.options.log.info('stopped')
    process.exit(code || (isClean ? 0 : 1))
  }

  retire(): Promise<void> {
    this.isReplaced = !this.stopping
    return this.stop(0)
  }

  async fail(error: unknown): Promise<void> {
    if (!this.stopping) console.error(inOneLine(error))
    return this.stop(1)
  }

  /** Never resolves when the process has begun to stop meanwhile. */
  async unlessBegun<T>(work: Promise<T>): Promise<T> {
    const answer = await work
    return this.stopping ? new Promise<T>(() => {}) : answer
  }

  private async hear(signal: keyof typeof numbers): Promise<void> {
    const interrupted = 128 + numbers[signal]
    if (!this.stopping) {
      this.firstAt = performance.now()
      this.options.log.info({ signal }, 'stopping')
      return this.stop(this.options.isErrand ? interrupted : 0)
    }
    if (this.options.isLed) return
    if (this.options.isRunByNpm && performance.now() - this.firstAt < echoMs) return
    const told = this.closers.filter(({ always }) => always).map(({ close }) => close().catch(() => {}))
    await within(lastMomentMs, Promise.all(told))
    process.exit(interrupted)
  }

  private hearHangUp(): void {
    if (this.hangUp && isatty(0)) this.hangUp()
    else if (!this.stopping) void this.hear('SIGHUP') // one may come twice, from the terminal and from npm
  }

  private async closed({ what, close, withinMs }: Closer): Promise<boolean> {
    const closing = Promise.try(close).then(() => '', String)
    const reason = (await within(withinMs, closing)) ?? `Error: not within ${withinMs} ms`
    if (reason) this.options.log.error({ what, reason }, 'not closed cleanly')
    return !reason
  }

  // Anything may be half done: accepted requests are answered, and another process goes on.
  private unexpected(error: unknown): void {
    const { message, stack } = error instanceof Error ? error : new Error(String(error))
    this.options.log.fatal({ reason: message, stack }, 'failed unexpectedly; stopping')
    void this.stop(1)
  }
}

export function inOneLine(error: unknown): string {
  const message = error instanceof Error ? error.message : ''
  return (message || String(error)).trim().replace(/\s*\n\s*/g, ' ')
}
