import process from 'node:process'
import { isatty } from 'node:tty'
import type { Log } from '../log.ts'
import { within } from '../within.ts'

interface Closer {
  what: string
  close(): Promise<void>
  withinMs: number
  /** Begun also when there is no time: it tells others to end. */
  always: boolean
}

interface Options {
  log: Log
  drainTimeoutMs: number
  /** An errand is not done when a signal ends it, which its exit code tells as a shell does. */
  isErrand: boolean
  isRunByNpm: boolean
  /** It has a parent, which kills it when there is no time: one signal may come twice, from it and from a terminal. */
  isLed: boolean
}

const numbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }
/** A human's second Ctrl-C comes later than the one that npm hands on beside the terminal's own. */
const echoMs = 300
const lastMomentMs = 250

/** How a process ends: in order, at the first signal or failure; at once, at the second signal. */
export class Stopping {
  private readonly closers: Closer[] = []
  private stopping = false
  private firstAt = 0
  private readonly hadTerminal = isatty(0)
  private hangUp: (() => void) | undefined
  /** Whether another process serves in its place already. */
  isReplaced = false

  constructor(private readonly options: Options) {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void this.hear(signal))
    if (this.hadTerminal) process.on('SIGHUP', () => this.hearHangUp())
    process.on('uncaughtException', (error) => this.unexpected(error))
    process.on('unhandledRejection', (error) => this.unexpected(error))
  }

  /** Has something closed at the end. What was opened last is closed first. */
  closes(
    what: string,
    close: () => Promise<void>,
    { withinMs = this.options.drainTimeoutMs, always = false } = {},
  ) {
    this.closers.unshift({ what, close, withinMs, always })
  }

  /** What SIGHUP asks for. From a terminal that is gone it says that the user is, too: that ends every process. */
  onHangUp(act: () => void): void {
    this.hangUp = act
    if (!this.hadTerminal) process.on('SIGHUP', act)
  }

  /** Closes everything and ends the process: with `code`, or with 1 when something did not close. */
  async stop(code: number): Promise<void> {
    if (this.stopping) return
    this.stopping = true
    let isClean = true
    for (const closer of this.closers) isClean = (await this.closed(closer)) && isClean
    if (code === 0 && isClean && !this.options.isErrand) this.options.log.info('stopped')
    process.exit(code || (isClean ? 0 : 1))
  }

  /** Ends in favour of another process, which is up. */
  retire(): Promise<void> {
    this.isReplaced = !this.stopping
    return this.stop(0)
  }

  /** Says in one line why the process ends, and ends it. */
  async fail(error: unknown): Promise<void> {
    if (!this.stopping) console.error(inOneLine(error))
    return this.stop(1)
  }

  /** What the work answers; nothing any more when the process has begun to stop meanwhile. */
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
    try {
      const isClosed = await within(
        withinMs,
        close().then(() => true),
      )
      if (!isClosed) throw new Error(`not within ${withinMs} ms`)
      return true
    } catch (error) {
      this.options.log.error({ what, reason: String(error) }, 'not closed cleanly')
      return false
    }
  }

  // What nobody caught may have left anything half done: what is accepted is answered, and a new process goes on.
  private unexpected(error: unknown): void {
    const { message, stack } = error instanceof Error ? error : new Error(String(error))
    this.options.log.fatal({ reason: message, stack }, 'failed unexpectedly; stopping')
    void this.stop(1)
  }
}

/** What went wrong, for who started the process: no trace, no source of a library. */
export function inOneLine(error: unknown): string {
  const message = error instanceof Error ? error.message : ''
  return (message || String(error)).trim().replace(/\s*\n\s*/g, ' ')
}
