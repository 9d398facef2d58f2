import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../log.ts'
import type { Child, Ending } from './child.ts'
import type { Ready } from './led.ts'

const steadyMs = 1_000
const maxFailedStarts = 6
const minPauseMs = 100

interface Options {
  start(): Child
  log: Log
  endWithinMs: number
  /** Called when the process cannot start: `starts` in a row have failed. */
  giveUp(ending: Ending, starts: number): void
}

/** A place for one process. Another process takes it when that one ends. */
export class Supervised {
  current: Child | undefined
  private readonly alive = new Set<Child>()
  private hasBeenUp = false
  private failedStarts = 0
  private isStopping = false

  constructor(private readonly options: Options) {}

  /** Resolves when the process is up; to undefined when it ended before. */
  async start(): Promise<Ready | undefined> {
    const child = this.begin()
    this.take(child)
    const ready = await child.ready
    this.hasBeenUp ||= ready !== undefined
    return ready
  }

  /** Starts another process, and ends the previous one when that is up. False when it does not come up. */
  async replace(): Promise<boolean> {
    const successor = this.begin()
    if (!(await successor.ready)) return false
    const previous = this.current
    this.take(successor)
    await previous?.end('retire', this.options.endWithinMs)
    return true
  }

  /** Ends all its processes. False when one of them failed. */
  async stop(): Promise<boolean> {
    this.isStopping = true
    const ends = [...this.alive].map((child) => child.end('stop', this.options.endWithinMs))
    return (await Promise.all(ends)).every(({ code }) => code === 0)
  }

  kill(): void {
    for (const child of this.alive) child.kill()
  }

  private begin(): Child {
    const child = this.options.start()
    this.alive.add(child)
    void child.ended.then(() => this.alive.delete(child))
    return child
  }

  private take(child: Child): void {
    this.current = child
    void child.ended.then((ending) => this.succeed(child, ending))
  }

  private async succeed(child: Child, ending: Ending): Promise<void> {
    const isOver = () => this.isStopping || child !== this.current
    if (isOver()) return
    this.failedStarts = child.upForMs < steadyMs ? this.failedStarts + 1 : 0
    const { log, giveUp } = this.options
    if (!this.hasBeenUp || this.failedStarts >= maxFailedStarts) return giveUp(ending, this.failedStarts)
    const againInMs = minPauseMs * 2 ** this.failedStarts
    log.error({ ended: child.pid, ...ending, againInMs }, 'a process ended unexpectedly')
    await sleep(againInMs)
    if (isOver()) return
    if (await this.start()) log.info({ started: this.current?.pid }, 'another process has taken its place')
  }
}
