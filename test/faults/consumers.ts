import { EventSource } from 'eventsource'
import { model } from '../../modules/modules.ts'
import { until } from '../../src/local/server.ts'
import { type FeedEvent, readFeed } from '../http/feed.ts'
import { parseMessages } from '../http/streaming.ts'
import { make, openClient, type Person } from '../support/client.ts'
import type { Deployment } from './deployment.ts'
import { type Violation, violationsOf } from './history.ts'

const pollTimeoutMs = 20_000
const finishTimeoutMs = 90_000
const pauseMs = 50

interface Followed {
  id: string
  owner: Person
}

export type Consumers = Awaited<ReturnType<typeof openConsumers>>

/** Follows projects by webhooks, by streams, and, for each owner, by a long poll and a stream of all projects. */
export async function openConsumers({ webs, receivers, postgres }: Deployment, projects: Followed[]) {
  const urlOf = (n: number) => webs[n % webs.length]!.url
  const followed = await Promise.all(
    projects.map(async ({ id, owner }, n) => {
      const client = openClient(urlOf(0), owner.token)
      const path = `/projects/${id}/webhooks`
      const webhook = await make(client, path, { url: `${receivers.url}/${n}` })
      const { secret, cursor } = webhook as unknown as { secret: string; cursor: number }
      receivers.all[n] = { secret, last: cursor, accepted: [], bodies: new Map() }
      // Retries the delivery at once, because the service waits for minutes after some failures.
      const retry = () => client.patch(`${path}/${webhook.id}`, { enabled: true })
      return { id, client, cursor, retry, stream: followByEventSource(urlOf(n), owner.token!, id) }
    }),
  )
  const byOwner = [...Map.groupBy(projects, ({ owner }) => owner.token!)]
  const polls = byOwner.map(([token, own], n) => pollMany(urlOf(n), token, own))
  const versions = byOwner.map(([token], n) => followVersions(urlOf(n + 1), token))
  const retry = () => Promise.all(followed.map((one) => one.retry().catch(() => {})))

  /** Waits until each consumer has as many events as the feed, and compares the events. */
  async function errorsOf({ id, client, cursor, stream }: (typeof followed)[number], n: number) {
    const feed = await readFeed(client, `/projects/${id}/events?after=0`)
    const { accepted } = receivers.all[n]!
    const seen = () => ({
      stream: stream.events,
      poll: polls.flatMap(({ received }) => received.get(id) ?? []),
      webhook: [...feed.slice(0, cursor), ...accepted],
    })
    const version = () => Math.max(...versions.map(({ of }) => of.get(id) ?? 0))
    const lengths = () => [version(), ...Object.values(seen()).map(({ length }) => length)]
    const isComplete = () => lengths().every((length) => length >= feed.length) || undefined
    await until(isComplete, finishTimeoutMs, { everyMs: 100 })
    const wrong = Object.entries(seen()).filter(([, all]) => JSON.stringify(all) !== JSON.stringify(feed))
    return [
      ...(version() === feed.length ? [] : [`the version of ${id} is ${feed.length}, not ${version()}`]),
      ...wrong.map(
        ([name, all]) => `the ${name} of ${id} has ${all.length} of ${feed.length} events, or others`,
      ),
    ]
  }
  return {
    retry,
    async finish(): Promise<Violation[]> {
      receivers.isReliable = true
      const isDelivered = async () => {
        const late = await postgres.query(
          (sql) => sql`select from webhooks w join streams s using (project_id) where w.cursor < s.version`,
        )
        if (late.length > 0) await retry()
        return late.length === 0 || undefined
      }
      const inTime = await until(isDelivered, finishTimeoutMs, { everyMs: 300 })
      const errors = await Promise.all(followed.map(errorsOf))
      for (const { stream } of followed) stream.close()
      for (const { stop } of [...polls, ...versions]) stop()
      const late = inTime ? [] : ['webhooks did not get all events in time']
      return violationsOf('consumers get every event once and in order', [
        ...[...late, ...receivers.errors, ...errors.flat()],
      ])
    },
  }
}

function repeat(attempt: (signal: AbortSignal) => Promise<void>): { stop(): void } {
  const stopped = new AbortController()
  void (async () => {
    while (!stopped.signal.aborted) {
      await attempt(stopped.signal).catch(() => {})
      await Bun.sleep(pauseMs)
    }
  })()
  return { stop: () => stopped.abort() }
}

function followVersions(url: string, token: string) {
  const of = new Map<string, number | null>()
  const reader = repeat(async (signal) => {
    const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
    const response = await fetch(`${url}/api/v1/events`, { headers, signal })
    for await (const { event, data } of parseMessages(response.body!)) {
      if (event === 'end') return
      const state = data as unknown as { projectId: string; version: number | null } | undefined
      if (state) of.set(state.projectId, state.version)
    }
  })
  return { of, ...reader }
}

function pollMany(url: string, token: string, projects: Followed[]) {
  const received = new Map<string, FeedEvent[]>(projects.map(({ id }) => [id, []]))
  let after = Object.fromEntries(projects.map(({ id }) => [id, 0]))
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const reader = repeat(async (signal) => {
    const response = await fetch(`${url}/api/v1/events/read`, {
      ...{ method: 'POST', headers, body: JSON.stringify({ after, wait: 5 }) },
      signal: AbortSignal.any([signal, AbortSignal.timeout(pollTimeoutMs)]),
    })
    if (response.status !== 200) return
    type Page = { events: (FeedEvent & { projectId: string })[]; after: Record<string, number> }
    const page = (await response.json()) as Page
    for (const { projectId, ...event } of page.events) received.get(projectId)!.push(event)
    after = page.after
  })
  return { received, ...reader }
}

function followByEventSource(url: string, token: string, projectId: string) {
  const source = new EventSource(`${url}/api/v1/projects/${projectId}/events?after=0`, {
    fetch: (input, init) =>
      fetch(input, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } }),
  })
  const events: FeedEvent[] = []
  let [wanted, reached] = [0, () => {}]
  for (const type of model.eventTypes)
    source.addEventListener(type, ({ data }) => {
      events.push(JSON.parse(data))
      if (events.length >= wanted) reached()
    })
  const until = (count: number) =>
    new Promise<void>((resolve) => {
      ;[wanted, reached] = [count, resolve]
      if (events.length >= count) resolve()
    })
  return { events, until, close: () => source.close() }
}
