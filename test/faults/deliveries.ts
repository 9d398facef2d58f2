import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { until } from '../../src/local/wait.ts'
import { digest } from './check-lists.ts'
import type { Deployment } from './deployment.ts'
import { type Violation, violationsOf } from './history.ts'
import type { ProjectRef, RecordingClient } from './load.ts'
import type { startWebhookClient, Webhook } from './webhooks.ts'
import { eventJson, type Evidence, type LogEvent } from './evidence.ts'
import { freePort } from '../../src/local/server.ts'
import { Random } from './random.ts'

const deliveryTimeoutMs = 90_000
const pageSize = 200

type WebhookClient = Awaited<ReturnType<typeof startWebhookClient>>

/** Lets all receivers accept every request, waits until all events are delivered, and reads the feeds. */
export async function finishDeliveries(
  { stop, webhooks, enable, retryNow }: WebhookClient,
  { receivers, postgres }: Deployment,
  client: RecordingClient,
) {
  await stop()
  receivers.behave('ok')
  const began = performance.now()
  const active = webhooks.all.filter((webhook) => webhook.created && !webhook.isDeleted)
  await Promise.all(active.map(enable))
  let lagging: { id: string }[] = []
  const areDelivered = async () => {
    const jobs = await postgres.query((sql) => sql`select from outbox limit 1`)
    lagging = await postgres.query(
      (sql) => sql<typeof lagging>`
        select w.id, w.url, w.cursor, s.version, w.failures, w.next_at, w.disabled_reason
        from webhooks w join streams s using (project_id) where w.cursor < s.version`,
    )
    if (lagging.length === 0) return jobs.length === 0 || undefined
    const ids = new Set(lagging.map(({ id }) => id))
    await Promise.all(active.filter((webhook) => ids.has(webhook.created!.id)).map(retryNow))
    return undefined
  }
  const isDone = await until(areDelivered, deliveryTimeoutMs, { everyMs: 300 })
  const deliveredMs = isDone && performance.now() - began
  const violations: Violation[] = [
    ...violationsOf('webhooks deliver every event in the end', isDone ? [] : [JSON.stringify(lagging)]),
    ...violationsOf('every delivery is signed', webhooks.errors),
  ]
  const projects = new Set(active.map(({ project }) => project).filter(({ isPermanent }) => isPermanent))
  const feeds = new Map<string, string[]>()
  for (const project of projects) feeds.set(project.id, await readFeed(client, project))
  const sent: DeliveryEvidence = { webhooks: webhooks.all, deliveries: receivers.deliveries, feeds }
  return { violations, deliveredMs, sent }
}

async function readFeed(client: RecordingClient, { id, owner }: ProjectRef): Promise<string[]> {
  const events: string[] = []
  for (;;) {
    const path = `/projects/${id}/events?after=${events.length}&limit=${pageSize}`
    const { status, text } = await client.sendUnrecorded({ method: 'GET', path, caller: owner })
    if (status !== 200) throw new Error(`GET ${path} returned ${status} ${text}`)
    const page = JSON.parse(text) as object[]
    events.push(...page.map((event) => digest(JSON.stringify(event))))
    if (page.length === 0) return events
  }
}

export interface DeliveryEvidence {
  webhooks: Webhook[]
  deliveries: Delivery[]
  feeds: Map<string, string[]>
}

/**
 * Checks that each webhook delivered exactly the events since its creation, as the feed shows them; that no event was
 * sent before all earlier events were accepted; and that a retry has the same body.
 */
export function checkDeliveries(
  { webhooks, deliveries, feeds }: DeliveryEvidence,
  { events, people }: Evidence,
): string[] {
  const histories = Map.groupBy(events, ({ projectId }) => projectId)
  const byPath = Map.groupBy(deliveries, ({ path }) => path)
  const digests = new Map<string, string>()
  const digestOf = (event: LogEvent) => {
    const text = digests.get(event.id) ?? digest(eventJson(event, people))
    digests.set(event.id, text)
    return text
  }
  const errors = [...feeds].flatMap(([projectId, feed]) => {
    const history = histories.get(projectId) ?? []
    const at = history.findIndex((event, i) => digestOf(event) !== feed[i])
    if (at < 0 && feed.length === history.length) return []
    if (at === feed.length) return [`the feed of ${projectId} has only ${at} of ${history.length} events`]
    return [`the feed of ${projectId} differs from the log at event ${at < 0 ? history.length + 1 : at + 1}`]
  })
  for (const webhook of webhooks) {
    if (!webhook.created) continue
    const history = histories.get(webhook.project.id) ?? []
    const own = byPath.get(webhook.path) ?? []
    const found = [...contentErrors(own, history, digestOf), ...orderErrors(webhook, own, history)]
    errors.push(...found.map((text) => `webhook ${webhook.created!.id} (${webhook.path}) ${text}`))
  }
  return errors
}

function contentErrors(
  deliveries: Delivery[],
  history: LogEvent[],
  digestOf: (event: LogEvent) => string,
): string[] {
  const bodies = new Map<string, string>()
  return deliveries.flatMap(({ id, body, seqs, events }) => {
    const first = bodies.get(id) ?? body
    bodies.set(id, first)
    const other = seqs.find((seq, i) => !history[seq - 1] || digestOf(history[seq - 1]!) !== events[i])
    return [
      ...(first === body ? [] : [`was sent ${id} again with a different body`]),
      ...(other === undefined ? [] : [`was sent an event ${other} that differs from the log`]),
    ]
  })
}

function orderErrors(webhook: Webhook, deliveries: Delivery[], history: LogEvent[]): string[] {
  const { created, types, isDeleted } = webhook
  const wanted = history
    .filter(({ seq, type }) => seq > created!.after && (!types || types.includes(type)))
    .map(({ seq }) => seq)
  const indexOf = new Map(wanted.map((seq, i) => [seq, i]))
  const accepted = deliveries.filter((one) => one.accepted).sort((a, b) => a.accepted! - b.accepted!)
  const errors: string[] = []
  let [done, next] = [0, 0]
  const acceptUntil = (step: number) => {
    for (; next < accepted.length && accepted[next]!.accepted! < step; next++)
      done = Math.max(done, (indexOf.get(accepted[next]!.seqs.at(-1)!) ?? -1) + 1)
  }
  for (const { received, seqs } of deliveries) {
    acceptUntil(received)
    const first = indexOf.get(seqs[0]!)
    const isContiguous = first !== undefined && seqs.every((seq, i) => seq === wanted[first + i])
    if (!isContiguous)
      errors.push(`was sent the events ${seqs.join()}, which are not consecutive among its events`)
    else if (first > done) errors.push(`was sent event ${seqs[0]} before event ${wanted[done]} was accepted`)
  }
  acceptUntil(Infinity)
  if (isDeleted || history.at(-1)?.type === 'project.deleted') return errors
  const left = wanted.slice(done)
  if (left.length > 0) errors.push(`was never sent event ${left[0]} and ${left.length - 1} later events`)
  return [...errors, ...replayErrors(webhook, deliveries, wanted)]
}

function replayErrors({ replays }: Webhook, deliveries: Delivery[], wanted: number[]): string[] {
  const last = replays.at(-1)
  const first = last && wanted.find((seq) => seq > last.after)
  if (!first || deliveries.some(({ received, seqs }) => received > last.since && seqs[0] === first)) return []
  return [`was not sent the events after ${last.after} again after a replay`]
}

export interface Delivery {
  path: string
  id: string
  /** Numbers that order the arrivals and acceptances of all deliveries. */
  received: number
  accepted: number | undefined
  projectId: string
  seqs: number[]
  events: string[]
  body: string
}

export interface SignedRequest {
  delivery: Delivery
  text: string
  headers: Record<string, string>
}

export type Receivers = Awaited<ReturnType<typeof openReceivers>>

export async function openReceivers(random = new Random(1)) {
  const port = await freePort()
  const waiting = new Set<ServerResponse>()
  let fixed: Behavior | undefined
  let steps = 0
  let server: Server

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {})
    const behavior = fixed ?? randomBehavior(random)
    if (behavior === 'reset' && random.chance(0.5)) return void request.socket.destroy()
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    const delivery = readDelivery(request, text, ++steps)
    receivers.deliveries.push(delivery)
    receivers.verify({ delivery, text, headers: request.headers as Record<string, string> })
    const isSilent = behavior === 'silent' || fixed === 'silent'
    if (isSilent) waiting.add(response)
    else await behaviors[behavior]({ response, random, accept: () => (delivery.accepted = ++steps) })
  }

  const receivers = {
    url: `http://127.0.0.1:${port}`,
    deliveries: [] as Delivery[],
    steps: () => steps,
    /** Called when a request arrives, because the signature of the request expires. */
    verify: (_: SignedRequest): void => {},
    /** Sets the behavior of all receivers; without an argument, each request gets a random behavior again. */
    behave(next?: Behavior) {
      fixed = next
      for (const response of waiting) response.socket?.destroy()
      waiting.clear()
    },
    async up() {
      server = createServer((request, response) => void handle(request, response).catch(() => {}))
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    },
    async down() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  await receivers.up()
  return receivers
}

function readDelivery({ url = '', headers }: IncomingMessage, text: string, received: number): Delivery {
  const { data } = JSON.parse(text) as { data: { projectId: string; events: { seq: number }[] } }
  return {
    ...{ path: url, id: String(headers['webhook-id']), received, accepted: undefined, body: digest(text) },
    projectId: data.projectId,
    seqs: data.events.map(({ seq }) => seq),
    events: data.events.map((event) => digest(JSON.stringify(event))),
  }
}

interface Exchange {
  response: ServerResponse
  random: Random
  accept(): void
}

const behaviors = {
  ok: ({ response, accept }: Exchange) => {
    accept()
    response.writeHead(204).end()
  },
  slow: async (exchange: Exchange) => {
    await Bun.sleep(exchange.random.between(50, 2_000))
    behaviors.ok(exchange)
  },
  serverError: ({ response }: Exchange) => response.writeHead(500).end('It did not work'),
  tooManyRequests: ({ response }: Exchange) => response.writeHead(429, { 'retry-after': '1' }).end(),
  redirect: ({ response }: Exchange) => response.writeHead(302, { location: '/elsewhere' }).end(),
  gone: ({ response }: Exchange) => response.writeHead(410).end(),
  reset: ({ response }: Exchange) => response.socket?.destroy(),
  /** Sends 200, and closes the connection before the end of the body. */
  partialBody: ({ response, accept }: Exchange) => {
    accept()
    response.writeHead(200, { 'content-length': '100' }).write('o')
    setTimeout(() => response.socket?.destroy(), 20)
  },
  silent: () => {},
}
type Behavior = keyof typeof behaviors

const randomBehavior = (random: Random): Behavior =>
  random.weighted({
    ...{ ok: 60, slow: 8, serverError: 6, tooManyRequests: 4, redirect: 2, gone: 2 },
    ...{ reset: 5, partialBody: 3, silent: 2 },
  })
