import process from 'node:process'
import { isatty } from 'node:tty'
import type { Log } from '../logger.ts'
import { within } from '../waits.ts'

interface Closer {
  name: string
  close(): Promise<void>
  withinMs: number
  /** True if `close` also runs at a second signal, because `close` stops other processes. */
  isForced?: boolean
}

interface Options {
  log: Log
  drainTimeoutMs: number
  /** A one-off command that a signal interrupts exits with 128 + the number of the signal. */
  isOneOff: boolean
  isRunByNpm: boolean
  /** A child ignores a second signal, because its parent and the terminal may both send one. */
  isChild: boolean
}

const numbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }
/** npm repeats the SIGINT of a terminal within this time. A second Ctrl-C comes later, and forces the exit. */
const echoMs = 300
const forcedCloseMs = 250

/** Stops the process: gracefully at the first signal or failure, immediately at the second signal. */
export class Shutdown {
  private readonly closers: Closer[] = []
  private isStopping = false
  private firstAt = 0
  private readonly hadTerminal = isatty(0)
  private hangUp: (() => void) | undefined
  isReplaced = false

  constructor(private readonly options: Options) {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void this.onSignal(signal))
    if (this.hadTerminal) process.on('SIGHUP', () => this.onTerminalHangUp())
    process.on('uncaughtException', (error) => this.unexpected(error))
    process.on('unhandledRejection', (error) => this.unexpected(error))
  }

  onClose(name: string, close: () => Promise<void>, more: Partial<Closer> = {}): void {
    this.closers.unshift({ name, close, withinMs: this.options.drainTimeoutMs, ...more })
  }

  /** A SIGHUP from a closed terminal does not call `handler`, but stops the process. */
  onHangUp(handler: () => void): void {
    this.hangUp = handler
    if (!this.hadTerminal) process.on('SIGHUP', handler)
  }

  async stop(code: number): Promise<void> {
    if (this.isStopping) return
    this.isStopping = true
    let isClean = true
    for (const closer of this.closers) isClean = (await this.closeInTime(closer)) && isClean
    if (code === 0 && isClean && !this.options.isOneOff) this.options.log.info('stopped')
    process.exit(code || (isClean ? 0 : 1))
  }

  retire(): Promise<void> {
    this.isReplaced = !this.isStopping
    return this.stop(0)
  }

  async fail(error: unknown): Promise<void> {
    if (!this.isStopping) console.error(toOneLine(error))
    return this.stop(1)
  }

  /** Returns the result of `work`, but never resolves if the process is stopping when `work` ends. */
  async unlessStopping<T>(work: Promise<T>): Promise<T> {
    const result = await work
    return this.isStopping ? new Promise<T>(() => {}) : result
  }

  private async onSignal(signal: keyof typeof numbers): Promise<void> {
    const interrupted = 128 + numbers[signal]
    if (!this.isStopping) {
      this.firstAt = performance.now()
      this.options.log.info({ signal }, 'stopping')
      return this.stop(this.options.isOneOff ? interrupted : 0)
    }
    if (this.options.isChild) return
    if (this.options.isRunByNpm && performance.now() - this.firstAt < echoMs) return
    const forced = this.closers.filter(({ isForced }) => isForced)
    await within(forcedCloseMs, Promise.allSettled(forced.map(({ close }) => close())))
    process.exit(interrupted)
  }

  private onTerminalHangUp(): void {
    if (this.hangUp && isatty(0)) this.hangUp()
    // Ignores a second SIGHUP, because the terminal and npm may both send one.
    else if (!this.isStopping) void this.onSignal('SIGHUP')
  }

  private async closeInTime({ name, close, withinMs }: Closer): Promise<boolean> {
    const closing = Promise.try(close).then(() => '', String)
    const reason = (await within(withinMs, closing)) ?? `Error: timed out after ${withinMs} ms`
    if (reason) this.options.log.error({ part: name, reason }, 'failed to close a part of the process')
    return !reason
  }

  private unexpected(error: unknown): void {
    const { message, stack } = error instanceof Error ? error : new Error(String(error))
    this.options.log.fatal({ reason: message, stack }, 'unexpected error; stopping')
    void this.stop(1)
  }
}

export function toOneLine(error: unknown): string {
  const message = error instanceof Error ? error.message : ''
  return (message || String(error)).trim().replace(/\s*\n\s*/g, ' ')
}
