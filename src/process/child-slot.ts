import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../log.ts'
import type { Child, Exit } from './child.ts'
import type { ReadyMessage } from './parent-messages.ts'

const stableMs = 1_000
const maxFailedStarts = 6
const minPauseMs = 100

interface Options {
  start(): Child
  log: Log
  stopTimeoutMs: number
  giveUp(exit: Exit, starts: number): void
}

export class ChildSlot {
  current: Child | undefined
  private readonly alive = new Set<Child>()
  private hasBeenUp = false
  private failedStarts = 0
  private isStopping = false

  constructor(private readonly options: Options) {}

  /** Resolves to undefined if the process ends before it is ready. */
  async start(): Promise<ReadyMessage | undefined> {
    const child = this.spawn()
    this.setCurrent(child)
    const ready = await child.ready
    this.hasBeenUp ||= ready !== undefined
    return ready
  }

  async replace(): Promise<boolean> {
    const successor = this.spawn()
    if (!(await successor.ready)) return false
    const previous = this.current
    this.setCurrent(successor)
    await previous?.stop('retire', this.options.stopTimeoutMs)
    return true
  }

  /** Returns false if a process did not exit with code 0. */
  async stop(): Promise<boolean> {
    this.isStopping = true
    const ends = [...this.alive].map((child) => child.stop('stop', this.options.stopTimeoutMs))
    return (await Promise.all(ends)).every(({ code }) => code === 0)
  }

  kill(): void {
    for (const child of this.alive) child.kill()
  }

  private spawn(): Child {
    const child = this.options.start()
    this.alive.add(child)
    void child.exited.then(() => this.alive.delete(child))
    return child
  }

  private setCurrent(child: Child): void {
    this.current = child
    void child.exited.then((exit) => this.restart(child, exit))
  }

  private async restart(child: Child, exit: Exit): Promise<void> {
    const isObsolete = () => this.isStopping || child !== this.current
    if (isObsolete()) return
    this.failedStarts = child.uptimeMs < stableMs ? this.failedStarts + 1 : 0
    const { log, giveUp } = this.options
    if (!this.hasBeenUp || this.failedStarts >= maxFailedStarts) return giveUp(exit, this.failedStarts)
    const restartInMs = minPauseMs * 2 ** this.failedStarts
    log.error({ ended: child.pid, ...exit, restartInMs }, 'a child process ended unexpectedly')
    await sleep(restartInMs)
    if (isObsolete()) return
    if (await this.start()) log.info({ started: this.current?.pid }, 'the child process was replaced')
  }
}
