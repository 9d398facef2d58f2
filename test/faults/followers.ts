import { setTimeout as sleep } from 'node:timers/promises'
import type { FeedEvent } from '../http/feed.ts'
import { parseMessages } from '../http/streaming.ts'

export type At = () => string
const pauseMs = 50
/** A connection that says nothing for so long is given up: a stream is never silent for as long. */
const silenceMs = 20_000

interface Follower {
  stop(): void
}

function again(work: (signal: AbortSignal) => Promise<void>): Follower {
  const over = new AbortController()
  void (async () => {
    while (!over.signal.aborted) {
      await work(over.signal).catch(() => {})
      await sleep(pauseMs)
    }
  })()
  return { stop: () => over.abort() }
}

async function* stream(
  url: string,
  token: string,
  signal: AbortSignal,
  headers: Record<string, string> = {},
) {
  const own = new AbortController()
  const give = () => own.abort()
  signal.addEventListener('abort', give, { once: true })
  let timer = setTimeout(give, silenceMs)
  try {
    const answer = await fetch(url, {
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream', ...headers },
      signal: own.signal,
    })
    if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`)
    for await (const message of parseMessages(answer.body!)) {
      clearTimeout(timer)
      timer = setTimeout(give, silenceMs)
      if (message.event === 'end') return
      yield message
    }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', give)
    own.abort()
  }
}

/** Follows a project by plain requests: what is cut goes on after the last event that came, wherever that is. */
export function followByFetch(at: At, token: string, projectId: string) {
  const seen: FeedEvent[] = []
  const reader = again(async (signal) => {
    const url = `${at()}/api/v1/projects/${projectId}/events`
    for await (const { event, data } of stream(url, token, signal, { 'last-event-id': String(seen.length) }))
      if (event) seen.push(data as unknown as FeedEvent)
  })
  return { seen, ...reader }
}

export function followAll(at: At, token: string) {
  const versions = new Map<string, number | null>()
  const reader = again(async (signal) => {
    for await (const { data } of stream(`${at()}/api/v1/events`, token, signal)) {
      const state = data as unknown as { projectId: string; version: number | null } | undefined
      if (state) versions.set(state.projectId, state.version)
    }
  })
  return { versions, ...reader }
}

export function readMany(at: At, token: string, ids: string[]) {
  const seen = new Map<string, FeedEvent[]>(ids.map((id) => [id, []]))
  let after = Object.fromEntries(ids.map((id) => [id, 0]))
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const reader = again(async (signal) => {
    const answer = await fetch(`${at()}/api/v1/events/read`, {
      ...{ method: 'POST', headers, body: JSON.stringify({ after, wait: 5 }) },
      signal: AbortSignal.any([signal, AbortSignal.timeout(silenceMs)]),
    })
    if (answer.status !== 200) throw new Error(`it answered ${answer.status}`)
    const read = (await answer.json()) as {
      events: (FeedEvent & { projectId: string })[]
      after: Record<string, number>
    }
    for (const event of read.events) seen.get(event.projectId)!.push(event)
    after = read.after
  })
  return { seen, ...reader }
}
