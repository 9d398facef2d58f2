import { setTimeout as sleep } from 'node:timers/promises'
import { type FeedEvent, parseMessages } from '../kit.ts'

const pauseMs = 50
const pollTimeoutMs = 20_000

function repeat(attempt: (signal: AbortSignal) => Promise<void>): { stop(): void } {
  const stopped = new AbortController()
  void (async () => {
    while (!stopped.signal.aborted) {
      await attempt(stopped.signal).catch(() => {})
      await sleep(pauseMs)
    }
  })()
  return { stop: () => stopped.abort() }
}

export function subscribeToAll(url: () => string, token: string) {
  const versions = new Map<string, number | null>()
  const reader = repeat(async (signal) => {
    const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
    const response = await fetch(`${url()}/api/v1/events`, { headers, signal })
    if (response.status !== 200) throw new Error(`GET /events returned ${response.status}`)
    for await (const { event, data } of parseMessages(response.body!)) {
      if (event === 'end') return
      const state = data as unknown as { projectId: string; version: number | null } | undefined
      if (state) versions.set(state.projectId, state.version)
    }
  })
  return { versions, ...reader }
}

export function pollMany(url: () => string, token: string, ids: string[]) {
  const received = new Map<string, FeedEvent[]>(ids.map((id) => [id, []]))
  let after = Object.fromEntries(ids.map((id) => [id, 0]))
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const reader = repeat(async (signal) => {
    const response = await fetch(`${url()}/api/v1/events/read`, {
      ...{ method: 'POST', headers, body: JSON.stringify({ after, wait: 5 }) },
      signal: AbortSignal.any([signal, AbortSignal.timeout(pollTimeoutMs)]),
    })
    if (response.status !== 200) throw new Error(`POST /events/read returned ${response.status}`)
    const page = (await response.json()) as {
      events: (FeedEvent & { projectId: string })[]
      after: Record<string, number>
    }
    for (const event of page.events) received.get(event.projectId)!.push(event)
    after = page.after
  })
  return { received, ...reader }
}
