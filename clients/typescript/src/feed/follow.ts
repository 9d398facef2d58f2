import { DocketError } from '../errors.ts'
import { backoffMs, sleep } from '../retries.ts'
import type { Transport } from '../transport.ts'
import { hasStatus, isFinal, pauseMs, untilSuccess } from './attempts.ts'
import type { FeedEvent, Snapshot } from './events.ts'
import { readEvents, readSnapshot } from './snapshot.ts'
import { SilentStream, streamMessages } from './stream.ts'

export interface FollowOptions {
  /** Begins after the event with this seq; 0: with the first event. By default only new events. */
  after?: number
  /** Begins with a snapshot, and ignores `after`. */
  snapshot?: boolean
  /** Leaves out the events of this account: its id, or `me`. */
  exceptActor?: string | undefined
  /** Ends the iteration without an error. */
  signal?: AbortSignal | undefined
  /** `poll` uses only long polls, `sse` only streams. By default long polls replace streams that fail. */
  transport?: 'sse' | 'poll'
}

export type FeedItem = FeedEvent | Snapshot

const longPollSeconds = 25
/** After this many broken streams in a row, `follow` uses long polls for `pollingMs`. */
const maxBrokenStreams = 2
const pollingMs = 300_000
const snapshotKinds = ['tasks', 'labels', 'fields'] as const
/** After a longer stream, the pause before the next stream is short again. */
const shortStreamMs = 5_000

/**
 * Yields every event once, in order and without a gap, except those of `exceptActor`. Connects again until the signal
 * aborts. If the service has deleted the next events, yields a snapshot in place of them.
 * @throws DocketError if the caller may not read the project (401, 403, 404), or if `after` is ahead of its version (400)
 */
export function follow(
  transport: Transport,
  projectId: string,
  options: FollowOptions = {},
): AsyncGenerator<FeedItem, void, void> {
  const { after, snapshot, signal } = options
  // Reads the version now, so that `follow` yields all events after this call.
  const start =
    after === undefined && !snapshot ? readVersion(transport, projectId, signal) : Promise.resolve(after ?? 0)
  start.catch(() => {})
  return endingQuietly(new Follower(transport, projectId, options).items(start), signal)
}

async function* endingQuietly(
  items: AsyncGenerator<FeedItem, void, void>,
  signal: AbortSignal | undefined,
): AsyncGenerator<FeedItem, void, void> {
  try {
    for await (const item of items) {
      if (signal?.aborted) return
      yield item
    }
  } catch (error) {
    if (!signal?.aborted) throw error
  }
}

async function readVersion(transport: Transport, projectId: string, signal: AbortSignal | undefined) {
  const read = () => transport.request('GET', `/projects/${projectId}`, { signal })
  return Number((await untilSuccess(read, signal)).headers.get('docket-version'))
}

class Follower {
  private readonly path: string
  private seq = 0
  private failures = 0
  private brokenStreams = 0
  private pollUntil = 0
  private needsSnapshot: boolean
  /** True if the service has sent or accepted `seq`. Then `seq` is ahead only after a failover that has lost events. */
  private isKnown: boolean

  constructor(
    private readonly transport: Transport,
    private readonly projectId: string,
    private readonly options: FollowOptions,
  ) {
    this.path = `/projects/${projectId}/events`
    this.needsSnapshot = options.snapshot === true
    this.isKnown = this.needsSnapshot || options.after === undefined
  }

  async *items(start: Promise<number>): AsyncGenerator<FeedItem, void, void> {
    const { transport, signal } = this.options
    this.seq = await start
    for (;;) {
      signal?.throwIfAborted()
      const isStream = transport !== 'poll' && performance.now() >= this.pollUntil
      if (isStream) yield* this.stream()
      // The stream has not sent the whole snapshot.
      if (this.needsSnapshot) yield this.restart(await this.snapshot())
      // A page request fails if the caller may not read any more, or if events have expired.
      yield* this.page(isStream ? 0 : longPollSeconds)
      if (isStream) await sleep(backoffMs(this.failures++), signal)
    }
  }

  /** Yields events until the stream ends for any reason. */
  private async *stream(): AsyncGenerator<FeedItem, void, void> {
    const openedAt = performance.now()
    let isSilent = false
    try {
      yield* this.messages()
    } catch (error) {
      isSilent = error instanceof SilentStream
      if (error instanceof DocketError && error.retryAfterMs)
        await sleep(pauseMs(error, this.failures++), this.options.signal)
    }
    if (performance.now() - openedAt > shortStreamMs) this.failures = 0
    if (isSilent) this.brokenStreams = maxBrokenStreams
    if (this.brokenStreams < maxBrokenStreams || this.options.transport === 'sse') return
    this.brokenStreams = 0
    this.pollUntil = performance.now() + pollingMs
  }

  private async *messages(): AsyncGenerator<FeedItem, void, void> {
    const { path, seq, options } = this
    const { exceptActor, signal } = options
    const query = { exceptActor, snapshot: this.needsSnapshot ? snapshotKinds.join() : undefined }
    const request = { path, query, signal, ...(!this.needsSnapshot && { after: seq }) }
    const snapshot: Snapshot = { type: 'snapshot', seq, tasks: [], labels: [], fields: [] }
    this.brokenStreams++
    for await (const { event: type, data, id } of streamMessages(this.transport, request)) {
      this.brokenStreams = 0
      if (type === 'end') return
      if (!data && id && exceptActor) this.seq = Math.max(this.seq, Number(id))
      if (!data) continue
      if (type === 'snapshot') {
        const { kind, rows } = JSON.parse(data) as { kind: (typeof snapshotKinds)[number]; rows: never[] }
        for (const row of rows) snapshot[kind].push(row)
        continue
      }
      if (type === 'live') {
        const { version } = JSON.parse(data) as { version: number }
        yield this.restart({ ...snapshot, seq: version })
        continue
      }
      const event = JSON.parse(data) as FeedEvent
      if (event.seq > this.seq + 1 && !exceptActor) return
      if (this.advance(event)) yield event
    }
  }

  private async *page(wait: number): AsyncGenerator<FeedItem, void, void> {
    const { exceptActor, signal } = this.options
    let read: Awaited<ReturnType<typeof readEvents>>
    try {
      const page = { after: this.seq, exceptActor, wait, signal }
      read = await readEvents(this.transport, this.projectId, page)
    } catch (error) {
      const hasExpired = hasStatus(error, 410)
      if (hasExpired || (hasStatus(error, 400) && this.isKnown)) {
        // A second 400 in a row is not about `seq`.
        this.isKnown = hasExpired
        return yield this.restart(await this.snapshot())
      }
      if (isFinal(error)) throw error
      this.pollUntil = this.brokenStreams = 0
      return sleep(pauseMs(error, this.failures++), signal)
    }
    this.isKnown = true
    const { events, end } = read
    for (const event of events) if (this.advance(event)) yield event
    if (exceptActor) this.seq = end
    if (wait > 0 && events.length === 0) await sleep(backoffMs(0), signal)
  }

  /** Returns false if the event is not the next event. If events are left out, each later event may be the next. */
  private advance({ seq }: FeedEvent): boolean {
    if (this.options.exceptActor ? seq <= this.seq : seq !== this.seq + 1) return false
    this.seq = seq
    this.failures = 0
    return (this.isKnown = true)
  }

  private snapshot(): Promise<Snapshot> {
    const { signal } = this.options
    return untilSuccess(() => readSnapshot(this.transport, this.projectId, signal), signal)
  }

  private restart(snapshot: Snapshot): Snapshot {
    this.seq = snapshot.seq
    this.needsSnapshot = false
    return snapshot
  }
}
