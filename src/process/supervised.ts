import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../log.ts'
import type { Family } from '../metrics/family.ts'
import type { Child, Ending } from './child.ts'
import type { Ready } from './led.ts'

/** Who was up for so long has started well. */
const steadyMs = 1_000
const mostFailedStarts = 6
const shortestPauseMs = 100

interface Options {
  start(): Child
  log: Log
  endWithinMs: number
  /** Called when nothing comes up here: `starts` in a row have failed. */
  giveUp(ending: Ending, starts: number): void
}

/** A place for one process, which another takes whenever it ends. */
export class Supervised {
  private current: Child | undefined
  private readonly alive = new Set<Child>()
  private hasBeenUp = false
  private failedStarts = 0
  private isStopping = false

  constructor(private readonly options: Options) {}

  get pid(): number | undefined {
    return this.current?.pid
  }

  /** Starts a process and answers when it is up; without an answer when it ended before. */
  async start(): Promise<Ready | undefined> {
    const child = this.begin()
    this.take(child)
    const ready = await child.ready
    this.hasBeenUp ||= ready !== undefined
    return ready
  }

  /** Starts another process, and ends the one before when that is up. False when it does not come up. */
  async replace(): Promise<boolean> {
    const successor = this.begin()
    if (!(await successor.ready)) return false
    const old = this.current
    this.take(successor)
    await old?.end('retire', this.options.endWithinMs)
    return true
  }

  /** Ends all its processes. False when one of them did not end well. */
  async stop(): Promise<boolean> {
    this.isStopping = true
    const ends = [...this.alive].map((child) => child.end('stop', this.options.endWithinMs))
    return (await Promise.all(ends)).every(({ code }) => code === 0)
  }

  async measure(): Promise<Family[]> {
    return (await this.current?.measure()) ?? []
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
    if (!this.hasBeenUp || this.failedStarts >= mostFailedStarts)
      return this.options.giveUp(ending, this.failedStarts)
    const againInMs = shortestPauseMs * 2 ** this.failedStarts
    this.options.log.error({ ended: child.pid, ...ending, againInMs }, 'a process ended unexpectedly')
    await sleep(againInMs)
    if (isOver()) return
    if (await this.start())
      this.options.log.info({ started: this.pid }, 'another process has taken its place')
  }
}
