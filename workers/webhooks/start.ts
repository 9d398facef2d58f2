import { LRUCache } from 'lru-cache'
import { disableWebhook } from '../../modules/webhooks/commands.ts'
import { nilId } from '../../src/id-format.ts'
import { newId } from '../../src/ids.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { grouped } from '../../src/postgres/grouped.ts'
import type { Services } from '../../src/services.ts'
import { repeatedly, within } from '../../src/waits.ts'
import { serviceActor } from '../../src/model/events.ts'
import { type DeliveryResult, isDue, openClaims, openDeliver } from './deliver.ts'

const searchEveryMs = 1_000
const renewEveryMs = 750

export function startWebhookDelivery(services: Services): () => Promise<void> {
  const { config, database, notifications, log, webhookNotifications } = services
  const index = new WebhookIndex(database.background)
  const dispatcher = new Dispatcher(services, index)
  const refresh = grouped({ keys: 500, slots: 1 }, async (projectIds: string[]) => {
    dispatcher.wake(await index.refresh(projectIds))
    return projectIds
  })
  const stops = [
    repeatedly(async () => dispatcher.wake(await index.searchNext()), searchEveryMs, log),
    repeatedly(() => dispatcher.renew(), renewEveryMs, log),
    notifications.listen(({ projectId }) => dispatcher.wake(index.of(projectId))),
    webhookNotifications.listen(({ projectId }) => void refresh(projectId).catch(() => {})),
  ]
  return async () => {
    dispatcher.isStopping = true
    await Promise.all(stops.map((stop) => stop()))
    await dispatcher.drain(config.drainTimeoutMs / 2)
  }
}

const searchRows = 5_000

/**
 * Has the ids of all enabled webhooks in memory, except webhooks that wait after a failure. So a commit in a project
 * without webhooks causes no query.
 */
export class WebhookIndex {
  private byProject = new Map<string, Set<string>>()
  private next = new Map<string, Set<string>>()
  private last = nilId

  constructor(private readonly sql: Sql) {}

  of(projectId: string): Iterable<string> {
    return this.byProject.get(projectId) ?? []
  }

  remove(projectId: string, id: string): void {
    for (const index of [this.byProject, this.next]) index.get(projectId)?.delete(id)
  }

  async refresh(projectIds: string[]): Promise<string[]> {
    return this.add(await this.rowsWhere(this.sql`w.project_id = any(${projectIds}::uuid[])`))
  }

  async searchNext(): Promise<string[]> {
    const rows = await this.rowsWhere(this.sql`w.id > ${this.last}`)
    const due = this.add(rows)
    if (rows.length === searchRows) this.last = rows.at(-1)!.id
    else [this.byProject, this.next, this.last] = [this.next, new Map(), nilId]
    return due
  }

  private add(rows: { id: string; projectId: string; isDue: boolean }[]): string[] {
    for (const { id, projectId } of rows)
      for (const index of [this.byProject, this.next])
        index.set(projectId, (index.get(projectId) ?? new Set()).add(id))
    return rows.flatMap((row) => (row.isDue ? row.id : []))
  }

  private rowsWhere = (where: SqlPart) => this.sql<{ id: string; projectId: string; isDue: boolean }[]>`
    select w.id, w.project_id, ${isDue(this.sql)} as is_due from webhooks w join streams s on s.project_id = w.project_id
    where w.disabled_at is null and (w.next_at is null or w.next_at <= now()) and ${where} order by w.id limit ${searchRows}`
}

const slowMs = 1_000

interface Delivery {
  abort: AbortController
  /** True if the webhook became due during the delivery. */
  isDueAgain: boolean
  isSlow: boolean
  done?: Promise<void>
}

/** Delivers to many webhooks concurrently, but to each webhook one message at a time. */
class Dispatcher {
  isStopping = false
  private readonly claims
  private readonly deliver
  private readonly places
  private readonly deliveries = new Map<string, Delivery>()

  constructor(
    private readonly services: Services,
    private readonly index: WebhookIndex,
  ) {
    this.claims = openClaims(services.database.commits, newId())
    this.deliver = openDeliver(services)
    this.places = new DeliveryPlaces(services.config.webhookConcurrency)
  }

  wake(ids: Iterable<string>): void {
    for (const id of ids) {
      const running = this.deliveries.get(id)
      if (running) running.isDueAgain = true
      else if (!this.isStopping) this.start(id)
    }
  }

  async renew(): Promise<void> {
    const slow = [...this.deliveries].flatMap(([id, { isSlow }]) => (isSlow ? id : []))
    if (slow.length === 0) return
    const renewed = new Set(await this.claims.renew(slow))
    for (const id of slow) if (!renewed.has(id)) this.abort(id, 'The lease is lost')
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
    const delivery: Delivery = { abort: new AbortController(), isDueAgain: false, isSlow: false }
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
    const becomeSlow = () => {
      delivery.isSlow = true
      if (!place.becomeSlow()) this.abort(id, 'Too many deliveries are slow')
    }
    const timer = setTimeout(becomeSlow, slowMs)
    try {
      const claim = this.isStopping ? undefined : await this.claims.claim(id)
      if (!claim) return
      const result = await this.deliver(claim, delivery.abort.signal)
      place.recordSpeed(result.upTo !== undefined && !delivery.isSlow)
      if (result.waitMs !== undefined) this.index.remove(claim.projectId, id)
      // Leaves the place before the result is stored, because that may wait for a lock.
      place.leave()
      await this.store(result, delivery)
    } finally {
      clearTimeout(timer)
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

/** Slow or failing webhooks have places of their own, so they never delay other webhooks. */
export class DeliveryPlaces {
  private readonly slowIds = new LRUCache<string, true>({ max: 100_000 })
  private readonly fast
  private readonly slow

  constructor(limit: number) {
    this.fast = { free: limit, waiting: new Set<() => void>() }
    this.slow = { free: limit * slowFactor, waiting: new Set<() => void>() }
  }

  /** Waits for a place, in the order of the calls. */
  async enter(id: string) {
    let held = this.slowIds.has(id) ? this.slow : this.fast
    if (held.free > 0) held.free--
    else await new Promise<void>((resolve) => held.waiting.add(resolve))
    let hasPlace = true
    const free = () => {
      const [next] = held.waiting
      if (!next) return void held.free++
      held.waiting.delete(next)
      next()
    }
    return {
      recordSpeed: (isFast: boolean) => void (isFast ? this.slowIds.delete(id) : this.slowIds.set(id, true)),
      /** Returns false if too many deliveries are slow: the caller must then abort the delivery. */
      becomeSlow: (): boolean => {
        // Postgres may store the result slowly although the delivery was fast.
        if (!hasPlace) return true
        this.slowIds.set(id, true)
        if (held === this.slow) return true
        if (this.slow.free === 0) return false
        free()
        held = this.slow
        held.free--
        return true
      },
      leave(): void {
        if (hasPlace) free()
        hasPlace = false
      },
    }
  }
}
