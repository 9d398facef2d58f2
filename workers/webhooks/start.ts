import { LRUCache } from 'lru-cache'
import { disableWebhook } from '../../modules/webhooks/commands.ts'
import { nilId } from '../../src/id-format.ts'
import { newId } from '../../src/ids.ts'
import { FairQueue } from '../../src/admission/fair-queue.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { Services } from '../../src/services.ts'
import { within } from '../../src/waits.ts'
import { serviceActor } from '../../src/model/events.ts'
import { forEachPage, type Loops, type Throttle } from '../throttle.ts'
import { type DeliveryResult, isDue, leaseMs, openClaims, openDeliver } from './deliver.ts'

const searchEveryMs = 1_000
const searchRows = 5_000

/** Returns a function that ends the deliveries. Stop the loops first. */
export function startWebhookDelivery(services: Services, loops: Loops): () => Promise<void> {
  const { config, database, notifications } = services
  const dispatcher = new Dispatcher(services, loops.isStopping)
  const pages = { ...loops.pages, batchRows: searchRows, pauseMs: 0 }
  let byProject: WebhooksByProject = new Map()
  loops.every(searchEveryMs, async () => {
    byProject = await findWebhooks(database.background, pages, (due) => dispatcher.wake(due))
  })
  loops.onStop(notifications.listen(({ projectId }) => dispatcher.wake(byProject.get(projectId) ?? [])))
  return () => dispatcher.drain(config.drainTimeoutMs / 2)
}

type WebhooksByProject = Map<string, string[]>

/**
 * Returns the ids of all enabled webhooks, except webhooks that wait after a failure. So a commit in a project without
 * webhooks causes no query.
 */
export async function findWebhooks(sql: Sql, pages: Throttle, wake: (due: string[]) => void) {
  const byProject: WebhooksByProject = new Map()
  await forEachPage(pages, nilId, async (after) => {
    const rows = await sql<{ id: string; projectId: string; isDue: boolean }[]>`
      select w.id, w.project_id, ${isDue(sql)} as is_due from webhooks w join streams s on s.project_id = w.project_id
      where w.disabled_at is null and (w.next_at is null or w.next_at <= now()) and w.id > ${after}
      order by w.id limit ${pages.batchRows}`
    for (const { id, projectId } of rows) byProject.set(projectId, [...(byProject.get(projectId) ?? []), id])
    wake(rows.flatMap((row) => (row.isDue ? row.id : [])))
    return rows.length === pages.batchRows ? rows.at(-1)!.id : undefined
  })
  return byProject
}

const slowMs = 1_000

interface Delivery {
  abort: AbortController
  /** True if the webhook became due during the delivery. */
  isDueAgain: boolean
  done?: Promise<void>
}

/** Delivers to many webhooks concurrently, but to each webhook one message at a time. */
class Dispatcher {
  private readonly claims
  private readonly deliver
  private readonly places
  private readonly deliveries = new Map<string, Delivery>()

  constructor(
    private readonly services: Services,
    private readonly isStopping: () => boolean,
  ) {
    this.claims = openClaims(services.database.commits, newId())
    this.deliver = openDeliver(services)
    this.places = new DeliveryPlaces(services.config.webhookConcurrency)
  }

  wake(ids: Iterable<string>): void {
    for (const id of ids) {
      const running = this.deliveries.get(id)
      if (running) running.isDueAgain = true
      else if (!this.isStopping()) this.start(id)
    }
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

  private start(id: string): void {
    const delivery: Delivery = { abort: new AbortController(), isDueAgain: false }
    this.deliveries.set(id, delivery)
    delivery.done = this.deliverNext(id, delivery)
      .catch((error) => {
        this.services.log.debug({ webhook: id, reason: String(error) }, 'webhook delivery postponed')
      })
      .finally(() => {
        this.deliveries.delete(id)
        if (delivery.isDueAgain) this.wake([id])
      })
  }

  private async deliverNext(id: string, delivery: Delivery): Promise<void> {
    const place = await this.places.enter(id)
    const becomeSlow = () => place.becomeSlow() || this.abort(id, 'Too many deliveries are slow')
    const timers = [setTimeout(becomeSlow, slowMs)]
    try {
      const claim = this.isStopping() ? undefined : await this.claims.claim(id)
      if (!claim) return
      // After a slow read of the events, another worker could send later events before this delivery ends.
      timers.push(setTimeout(() => this.abort(id, 'The lease ends'), leaseMs - slowMs))
      const result = await this.deliver(claim, delivery.abort.signal)
      // Leaves the place before the result is stored, because that may wait for a lock.
      timers.forEach(clearTimeout)
      place.leave(result.upTo !== undefined)
      await this.store(result, delivery)
    } finally {
      timers.forEach(clearTimeout)
      place.leave()
    }
  }

  /** Disables the webhook by a command, so that the history contains the event. */
  private async store(result: DeliveryResult, delivery: Delivery): Promise<void> {
    if (await this.claims.release(result)) delivery.isDueAgain = true
    if (result.disabled === undefined) return
    const { projectId, id: webhookId, revision } = result.claim
    const input = { projectId, webhookId, revision, reason: result.disabled }
    await this.services.run({ name: disableWebhook.name, input, caller: { userId: serviceActor } })
  }
}

/** Slow deliveries cost little, so their limit is this many times the limit of fast deliveries. */
const slowFactor = 5
const bounds = { what: 'deliveries', whose: 'of this webhook', slotsOfKey: 1 }

/** Slow or failing webhooks have places of their own, so they never delay other webhooks. */
export class DeliveryPlaces {
  private readonly slowIds = new LRUCache<string, true>({ max: 100_000 })
  private readonly fast
  private readonly slow

  constructor(limit: number) {
    this.fast = new FairQueue({ ...bounds, slots: limit })
    this.slow = new FairQueue({ ...bounds, slots: limit * slowFactor })
  }

  /** Waits for a place, in the order of the calls. */
  async enter(id: string) {
    const { fast, slow, slowIds } = this
    const wasSlow = slowIds.has(id)
    let isLong = false
    let place = await (wasSlow ? slow : fast).acquire(id)
    return {
      /** Returns false if too many deliveries are slow: the caller must then abort the delivery. */
      becomeSlow(): boolean {
        isLong = true
        if (wasSlow) return true
        const next = slow.acquire(id)
        if (next instanceof Promise) {
          void next.then((late) => late.release())
          return false
        }
        place.release()
        place = next
        return true
      },
      /** @param isDelivered undefined without an attempt */
      leave(isDelivered?: boolean): void {
        if (isDelivered && !isLong) slowIds.delete(id)
        else if (isDelivered !== undefined) slowIds.set(id, true)
        place.release()
      },
    }
  }
}
