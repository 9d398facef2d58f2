import { LRUCache } from 'lru-cache'
import { openEventPages } from '../../modules/events/rows.ts'
import { disableWebhook } from '../../modules/webhooks/commands.ts'
import { send } from '../../modules/webhooks/send.ts'
import { newId } from '../../src/ids.ts'
import { HttpError } from '../../src/responses/errors.ts'
import type { Services } from '../../src/services.ts'
import { within } from '../../src/waits.ts'
import { workerActor } from '../cascade.ts'
import { type Claim, type DeliveryResult, openClaims } from './claims.ts'

const maxBackingOff = 100_000
/** If this many results are being stored, a finished delivery counts as running until its result is stored. */
const maxRecording = 2_000

interface Delivery {
  startedAt: number
  abort: AbortController
  done: Promise<void>
}

/** Delivers to many webhooks concurrently, but to each webhook one message at a time. */
export class Dispatcher {
  private readonly claims
  private readonly deliver
  private readonly queues
  private readonly log
  private readonly run
  private readonly deliveries = new Map<string, Delivery>()
  /** Webhooks that became due during their delivery. */
  private readonly dueAgain = new Set<string>()
  /** A notification starts no delivery to a failing webhook before its next attempt. */
  private readonly backingOff = new LRUCache<string, true>({ max: maxBackingOff })
  private recording = 0
  private isStopping = false

  constructor(services: Services) {
    this.claims = openClaims(services.database.commits, newId())
    this.deliver = openDeliver(services)
    this.queues = new DeliveryQueues(services.config.webhookConcurrency)
    this.log = services.log
    this.run = services.run
  }

  wake(ids: Iterable<string>): void {
    for (const id of ids) {
      if (this.deliveries.has(id)) this.dueAgain.add(id)
      else this.queues.add(id)
    }
    this.startNext()
  }

  notify(ids: Iterable<string>): void {
    this.wake([...ids].filter((id) => !this.backingOff.has(id)))
  }

  /** Aborts a slow delivery if too many are slow, or if its lease is lost. */
  async renew(): Promise<void> {
    const isSlow = ({ startedAt }: Delivery) => performance.now() - startedAt > slowMs
    const slow = [...this.deliveries].flatMap(([id, delivery]) => (isSlow(delivery) ? id : []))
    if (slow.length === 0) return
    for (const id of slow) if (!this.queues.moveToSlow(id)) this.abort(id, 'Too many deliveries are slow')
    this.startNext()
    const renewed = new Set(await this.claims.renew(slow))
    for (const id of slow) if (!renewed.has(id)) this.abort(id, 'The lease is lost')
  }

  stop(): void {
    this.isStopping = true
  }

  /** After `withinMs`, aborts the remaining deliveries and releases their claims. */
  async drain(withinMs: number): Promise<void> {
    const ended = () => Promise.all([...this.deliveries.values()].map(({ done }) => done))
    await within(withinMs, ended())
    for (const id of this.deliveries.keys()) this.abort(id, 'The worker stops')
    await ended()
  }

  private abort(id: string, reason: string): void {
    this.deliveries.get(id)?.abort.abort(new Error(reason))
  }

  private startNext(): void {
    if (this.isStopping) return
    for (const id of this.queues.startNext()) {
      const abort = new AbortController()
      const done = this.deliverTo(id, abort.signal)
      this.deliveries.set(id, { startedAt: performance.now(), abort, done })
    }
  }

  private async deliverTo(id: string, signal: AbortSignal): Promise<void> {
    try {
      const claim = await this.claims.claim(id)
      if (claim) await this.record(id, await this.deliverClaimed(claim, signal))
    } catch (error) {
      this.log.debug({ webhook: id, reason: String(error) }, 'webhook delivery postponed')
    } finally {
      this.deliveries.delete(id)
      this.queues.finish(id)
      if (this.dueAgain.delete(id)) this.queues.add(id)
      this.startNext()
    }
  }

  private async deliverClaimed(claim: Claim, signal: AbortSignal): Promise<DeliveryResult> {
    const startedAt = performance.now()
    const result: DeliveryResult = await this.deliver(claim, signal).catch((error: unknown) => {
      this.log.debug({ webhook: claim.id, reason: String(error) }, 'webhook claim released without a result')
      return { claim }
    })
    if (result.waitMs === undefined) this.backingOff.delete(claim.id)
    else this.backingOff.set(claim.id, true, { ttl: result.waitMs })
    this.queues.recordSpeed(claim.id, result.upTo !== undefined && performance.now() - startedAt < slowMs)
    return result
  }

  /** Disables the webhook by a command, so that the history contains the event. */
  private async disable({ claim, disabled: reason }: DeliveryResult): Promise<void> {
    if (reason === undefined) return
    const { projectId, id: webhookId, revision } = claim
    const input = { projectId, webhookId, revision, reason }
    await this.run({ name: disableWebhook.name, input, caller: { userId: workerActor } })
  }

  private async record(id: string, result: DeliveryResult): Promise<void> {
    if (this.recording < maxRecording) {
      this.queues.finish(id)
      this.startNext()
    }
    this.recording++
    try {
      if (await this.claims.release(result)) this.dueAgain.add(id)
      await this.disable(result)
    } finally {
      this.recording--
    }
  }
}

const slowMs = 1_000
/** Slow deliveries cost little, so their limit is this many times the limit of fast deliveries. */
const slowFactor = 5

/** Slow or failing webhooks have a queue and a limit of their own, so they never delay other webhooks. */
export class DeliveryQueues {
  private readonly slow = new LRUCache<string, true>({ max: 100_000 })
  private readonly running = { fast: new Set<string>(), slow: new Set<string>() }
  private readonly waiting = { fast: new Set<string>(), slow: new Set<string>() }

  constructor(
    fast: number,
    private readonly limits = { fast, slow: fast * slowFactor },
  ) {}

  add = (id: string) => void this.waiting[this.slow.has(id) ? 'slow' : 'fast'].add(id)

  startNext = (): string[] => [...this.startFrom('fast'), ...this.startFrom('slow')]

  /** Returns false at the limit of slow deliveries: the caller must then abort the delivery. */
  moveToSlow(id: string): boolean {
    if (!this.running.fast.has(id)) return true
    this.slow.set(id, true)
    if (this.running.slow.size >= this.limits.slow) return false
    this.running.fast.delete(id)
    this.running.slow.add(id)
    return true
  }

  recordSpeed(id: string, isFast: boolean): void {
    if (isFast) this.slow.delete(id)
    else this.slow.set(id, true)
  }

  finish(id: string): void {
    for (const ids of Object.values(this.running)) ids.delete(id)
  }

  private startFrom(queue: 'fast' | 'slow'): string[] {
    const [waiting, running] = [this.waiting[queue], this.running[queue]]
    const ids = [...waiting.values().take(Math.max(0, this.limits[queue] - running.size))]
    for (const id of ids) if (waiting.delete(id)) running.add(id)
    return ids
  }
}

function openDeliver(services: Pick<Services, 'database' | 'oldestSeq' | 'outbound' | 'encryption'>) {
  const pageAt = openEventPages(services)

  async function attempt(claim: Claim, signal: AbortSignal): Promise<DeliveryResult> {
    const { projectId, head: version, cursor: after, maxEvents: limit, types, exceptActor } = claim
    const { events, upTo } = await pageAt({ projectId, version, after, limit, types, exceptActor })
    if (events.length === 0) return { claim, upTo }
    const { deliveryId } = claim
    const failures = claim.failures + 1
    const message = { deliveryId, attempt: failures, events, signal }
    const { row, retryAfterMs } = await send(services, claim, message)
    const { status } = row
    if (status !== null && status >= 200 && status < 300) return { claim, upTo, attempt: row }
    return { claim, attempt: row, ...afterFailure({ ...claim, failures, status, retryAfterMs }) }
  }

  return (claim: Claim, signal: AbortSignal): Promise<DeliveryResult> =>
    attempt(claim, signal).catch((error: unknown) => {
      const disabled = permanentFailure(error)
      if (disabled === undefined) throw error
      return { claim, disabled }
    })
}

/** The reason why no further attempt can succeed: the secret is unreadable, or the next events have expired. */
function permanentFailure(error: unknown): string | undefined {
  if (!(error instanceof HttpError)) return undefined
  if (error.status === 409) return error.message
  // If delivery continued with the remaining events, the receiver would not notice the loss.
  return error.status === 410 ? `${error.message}: replay from a later event` : undefined
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** The waits after the first failure, the second failure, and so on. The last wait repeats. */
const waitsMs = [5_000, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 5 * hourMs, 10 * hourMs]
/** A random part up to 10 % separates the retries of webhooks that failed together. */
const jitter = 0.1
const giveUpAfterMs = 5 * 24 * hourMs

/** `failures` and `failingMs` count from the first failure after the last success. */
interface Failure {
  failures: number
  failingMs: number
  status: number | null
  retryAfterMs: number | null
}

export function afterFailure(
  { failures, failingMs, status, retryAfterMs }: Failure,
  random = Math.random(),
): { waitMs: number } | { disabled: string } {
  if (status === 410) return { disabled: 'The receiver answered 410 Gone' }
  if (failingMs >= giveUpAfterMs) return { disabled: 'All attempts of 5 days failed' }
  const longest = waitsMs.at(-1)!
  const waitMs = (waitsMs[failures - 1] ?? longest) * (1 + jitter * random)
  const requestedMs = Math.min(retryAfterMs ?? 0, longest)
  // The last attempt is at the latest `giveUpAfterMs` after the first failure.
  return { waitMs: Math.round(Math.min(Math.max(waitMs, requestedMs), giveUpAfterMs - failingMs)) }
}
