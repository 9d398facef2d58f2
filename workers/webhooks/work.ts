import { LRUCache } from 'lru-cache'
import { disableWebhook } from '../../modules/webhooks/commands.ts'
import { newId } from '../../src/ids.ts'
import type { Services } from '../../src/services.ts'
import { within } from '../../src/within.ts'
import { worker } from '../cascade.ts'
import type { Turn } from './begin-turns.ts'
import { openDeliver } from './deliver.ts'
import { Lanes, slowMs } from './lanes.ts'
import { type Ending, openTurns } from './turns.ts'

const mostResting = 100_000
/** Deliveries that have left their lane while their end is noted. */
const mostEnding = 2_000

interface Job {
  began: number
  over: AbortController
  done: Promise<void>
}

/** Delivers to each webhook one message at a time, to many webhooks side by side. */
export class Work {
  private readonly turns
  private readonly deliver
  private readonly lanes
  private readonly log
  private readonly run
  private readonly jobs = new Map<string, Job>()
  /** Webhooks that are due again as soon as their delivery ends. */
  private readonly again = new Set<string>()
  /** Webhooks that failed: hints do not wake them until their time comes. */
  private readonly resting = new LRUCache<string, true>({ max: mostResting })
  private ending = 0
  private isStopping = false

  constructor(services: Services) {
    this.turns = openTurns(services.database.commits, newId())
    this.deliver = openDeliver(services)
    this.lanes = new Lanes(services.config.webhookConcurrency)
    this.log = services.log
    this.run = services.run
  }

  wake(ids: Iterable<string>): void {
    for (const id of ids) {
      if (this.jobs.has(id)) this.again.add(id)
      else this.lanes.wait(id)
    }
    this.pump()
  }

  hint(ids: Iterable<string>): void {
    this.wake([...ids].filter((id) => !this.resting.has(id)))
  }

  /** Renews the leases of slow deliveries, and ends those that lack room or whose lease is lost. */
  async renew(): Promise<void> {
    const isLong = ({ began }: Job) => performance.now() - began > slowMs
    const long = [...this.jobs].flatMap(([id, job]) => (isLong(job) ? id : []))
    if (long.length === 0) return
    for (const id of long)
      if (!this.lanes.goesOn(id)) this.jobs.get(id)?.over.abort(new Error('Too many are slow'))
    this.pump()
    const held = new Set(await this.turns.renew(long))
    for (const id of long) if (!held.has(id)) this.jobs.get(id)?.over.abort(new Error('The turn is over'))
  }

  stop(): void {
    this.isStopping = true
  }

  /** Waits for the deliveries in progress, and then gives them back. */
  async end(withinMs: number): Promise<void> {
    const ended = () => Promise.all([...this.jobs.values()].map(({ done }) => done))
    await within(withinMs, ended())
    for (const { over } of this.jobs.values()) over.abort(new Error('The worker ends'))
    await ended()
  }

  private pump(): void {
    if (this.isStopping) return
    for (const id of this.lanes.next()) {
      const over = new AbortController()
      this.jobs.set(id, { began: performance.now(), over, done: this.deliverTo(id, over.signal) })
    }
  }

  private async deliverTo(id: string, signal: AbortSignal): Promise<void> {
    try {
      const turn = await this.turns.begin(id)
      if (turn) await this.note(id, await this.take(turn, signal))
    } catch (error) {
      this.log.debug({ webhook: id, reason: String(error) }, 'put off')
    } finally {
      this.jobs.delete(id)
      this.lanes.leave(id)
      if (this.again.delete(id)) this.lanes.wait(id)
      this.pump()
    }
  }

  private async take(turn: Turn, signal: AbortSignal): Promise<Ending> {
    const began = performance.now()
    const ending: Ending = await this.deliver(turn, signal).catch((error: unknown) => {
      this.log.debug({ webhook: turn.id, reason: String(error) }, 'given back')
      return { turn }
    })
    if (ending.waitMs === undefined) this.resting.delete(turn.id)
    else this.resting.set(turn.id, true, { ttl: ending.waitMs })
    this.lanes.judge(turn.id, ending.upTo !== undefined && performance.now() - began < slowMs)
    return ending
  }

  /** By a command of the project, for its history. If that fails, the next attempt disables the webhook. */
  private async disable({ turn, disabled: reason }: Ending): Promise<void> {
    if (reason === undefined) return
    const { projectId, id: webhookId, revision } = turn
    const input = { projectId, webhookId, revision, reason }
    await this.run({ name: disableWebhook.name, input, caller: { userId: worker } })
  }

  /** Notes the end of a delivery, whose place in the lane is free meanwhile. */
  private async note(id: string, ending: Ending): Promise<void> {
    if (this.ending < mostEnding) {
      this.lanes.leave(id)
      this.pump()
    }
    this.ending++
    try {
      if (await this.turns.end(ending)) this.again.add(id)
      await this.disable(ending)
    } finally {
      this.ending--
    }
  }
}
