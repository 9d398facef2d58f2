import { LRUCache } from 'lru-cache'
import type { ReadRequest } from '../../src/commands/query.ts'
import { taskIdOf } from '../../src/log/rows.ts'
import { grouped } from '../../src/postgres/grouped.ts'
import { requireVisible, type VisibleProject } from '../../src/reads/lookups.ts'
import { pageBytes } from '../../src/reads/pages.ts'
import { requireRetained } from '../../src/reads/retention.ts'
import type { VersionRef } from '../../src/reads/versions.ts'
import { aheadOfProject, unavailable } from '../../src/responses/errors.ts'
import {
  type Chunks,
  streamStart,
  encode,
  heartbeat,
  heartbeatMs,
  streamHeaders,
  withErrorMessage,
} from '../../src/responses/server-sent-events.ts'
import { streamedBody } from '../../src/responses/streamed-body.ts'
import type { Services } from '../../src/services.ts'
import { type FeedQuery, lastEventIdHeader, eventView } from './schema.ts'
import {
  groupByRange,
  hasFilter,
  openPeople,
  readRanges,
  type EventFilter,
  type EventRange,
  type RangeRow,
} from './rows.ts'
import type { StreamedSnapshot } from './snapshot.ts'

interface OpenedStream {
  chunks: Chunks
  headers?: Record<string, string> | undefined
}

/** Returns a function that responds with a stream. It counts as a subscriber of the account until its end. */
export function openStreamResponse({ subscriptions }: Pick<Services, 'subscriptions'>) {
  return async (
    { request, caller }: ReadRequest,
    open: (signal: AbortSignal) => OpenedStream | Promise<OpenedStream>,
  ): Promise<Response> => {
    const isHead = request.method === 'HEAD'
    const release = isHead ? () => {} : subscriptions.acquire(caller.userId)
    const ended = new AbortController()
    const end = () => {
      ended.abort()
      release()
    }
    try {
      const opened = await open(ended.signal)
      const headers = { ...streamHeaders(), ...opened.headers }
      if (isHead) end()
      const body = isHead ? null : streamedBody(request.signal, withErrorMessage(opened.chunks), end)
      return new Response(body, { headers })
    } catch (error) {
      end()
      throw error
    }
  }
}

/** After this many omitted events, a stream sends an `id`, so that a reconnecting client skips these events. */
const maxEventsWithoutId = 100

/** Checks the client's rights after it reads events and before it sends the events. */
export function openEventStream(services: Services) {
  const { subscriptions } = services
  const eventsAfter = openEncodedEvents(services)

  /** With a snapshot, the stream begins with its rows, and continues with the first event after its version. */
  return async function* (
    read: ReadRequest,
    first: VisibleProject,
    query: FeedQuery,
    signal: AbortSignal,
    snapshot?: StreamedSnapshot,
  ) {
    const { projectId } = first
    /** `checked` is the version at which the client's rights were last checked. */
    let [project, checked]: [VisibleProject, VersionRef] = [first, first]
    let position: Position = { seq: query.after, id: eventIdAt(project, query.after) }
    if (snapshot) {
      yield streamStart()
      const { version, lastEventId } = yield* checkedChunks(services, read, projectId, snapshot)
      project = checked = await reauthorize(services, read, projectId, { seq: version })
      position = { seq: version, id: lastEventId }
    }
    const subscription = subscriptions.subscribe([project], signal)
    const lag = subscriptions.lags.track(signal, subscription, position.seq)
    let [lastIdSent, sentAt] = [position.seq, performance.now()]
    yield snapshot ? encode(liveMessage(position.seq)) : streamStart(idLine(position.seq))
    while (!signal.aborted) {
      lag.update(position.seq, project.version)
      if (subscriptions.hasEnded()) throw unavailable('The server is shutting down; connect again')
      if (position.seq < project.version) {
        const encoded = await eventsAfter(project, position)
        const { end } = encoded
        if (end.seq === position.seq) {
          // The stream was notified of events, but read none: a failover may have lost these events.
          subscription.resetTo(position.seq)
          project = checked = await reauthorize(services, read, projectId, position)
          continue
        }
        const upTo = Math.max(end.seq, project.version, subscription.notified)
        ;({ project, checked } = await checkRights(services, read, { project, checked }, upTo))
        position = end
        const [bytes, lastId] = framesOf(encoded, query, lastIdSent)
        if (bytes.length === 0) continue
        yield bytes
        ;[lastIdSent, sentAt] = [lastId, performance.now()]
      } else {
        const leftMs = sentAt + heartbeatMs - performance.now()
        if (leftMs > 0) {
          const version = await subscription.waitForNewer(project.version, leftMs)
          if (version) project = { ...project, version }
          // A failover may have lost events; then the version is lower than before.
          else checked = project = await reauthorize(services, read, projectId, position)
          continue
        }
        yield heartbeat(idLine(position.seq))
        ;[lastIdSent, sentAt] = [position.seq, performance.now()]
      }
    }
  }
}

/** Does not query the role if this process committed all changes since the last check and none affects a role. */
async function checkRights(
  { authenticate, findRole, recent }: Services,
  { request }: ReadRequest,
  { project, checked }: { project: VisibleProject; checked: VersionRef },
  upTo: number,
) {
  const caller = await authenticate.caller(request)
  const unchanged = recent.sameRightsSince(checked)
  if (unchanged && unchanged.version >= upTo) return { project, checked: unchanged }
  const now = await requireVisible(findRole, caller, project.projectId)
  return { project: now, checked: now }
}

async function* checkedChunks(
  { authenticate, findRole, subscriptions }: Services,
  { request }: ReadRequest,
  projectId: string,
  snapshot: StreamedSnapshot,
) {
  for (;;) {
    const { value, done } = await snapshot.next()
    if (done) return value
    if (subscriptions.hasEnded()) throw unavailable('The server is shutting down; connect again')
    await requireVisible(findRole, await authenticate.caller(request), projectId)
    yield value
  }
}

/** Checks the caller's rights again. Throws 400 if a failover or a restore has lost events that were already sent. */
async function reauthorize(
  { authenticate, findRole }: Pick<Services, 'authenticate' | 'findRole'>,
  { request }: ReadRequest,
  projectId: string,
  { seq, id }: Position,
): Promise<VisibleProject> {
  const project = await requireVisible(findRole, await authenticate.caller(request), projectId)
  const { version } = project
  if (seq > version || (id !== undefined && id !== (eventIdAt(project, seq) ?? id)))
    throw aheadOfProject(lastEventIdHeader)
  return project
}

const eventIdAt = ({ version, lastEventId }: VisibleProject, seq: number) =>
  seq === version ? lastEventId : undefined

/** A message without data: a client dispatches no event, but sends this id in `Last-Event-ID` when it reconnects. */
const idLine = (position: number) => `id: ${position}\n`

const liveMessage = (version: number) => `id: ${version}\nevent: live\ndata: {"version":${version}}\n\n`

/** Returns the messages of a chunk, and the last id in them. */
function framesOf({ events, bytes, end }: EncodedEvents, filter: EventFilter, lastIdSent: number) {
  if (!hasFilter(filter)) return [bytes, end.seq] as const
  const { types, exceptActor } = filter
  let [text, lastId] = ['', lastIdSent]
  for (const event of events) {
    const isShown = event.actorId !== exceptActor && (!types || types.includes(event.type))
    if (!isShown && event.seq - lastId < maxEventsWithoutId) continue
    text += isShown ? event.text : `${idLine(event.seq)}\n`
    lastId = event.seq
  }
  return [encode(text), lastId] as const
}

/** The maximum number of events in one chunk of a stream. */
const maxEvents = 100
const maxCacheBytes = 33_554_432
const cachedMs = 2_000
/** The estimated memory of a cached chunk without its text. */
const overheadBytes = 500
const groupLimits = { keys: 20, slots: 2 }
/** Limits of one query: the bytes of one range, and the bytes of all ranges together. */
const bounds = { bytesOfOne: 262_144, bytes: pageBytes }

/** The seq of the last event that a stream has sent, and the id of this event if it is known. */
interface Position {
  seq: number
  id?: string | undefined
}

interface EncodedEvents {
  events: { seq: number; type: string; actorId: string; text: string }[]
  bytes: Uint8Array<ArrayBuffer>
  end: Position
}

/** Returns a function that reads and encodes the events after a position. Streams at one position share the result. */
function openEncodedEvents(services: Services) {
  const { authenticate, oldestSeq, recent, subscriptions } = services
  const { reads: sql } = services.database
  const findPeople = openPeople(sql, authenticate)

  const readTogether = grouped(groupLimits, async (ranges: EventRange[]) => {
    const recentEvents = ranges.map((range) => recent.after(range))
    const others = ranges.filter((_, n) => !recentEvents[n])
    const rows = others.length > 0 ? groupByRange(others, await readRanges(sql, others, bounds)) : []
    const all = recentEvents.map((events) => events ?? rows.shift()!)
    const people = await findPeople(all.flat())
    return all.map((events) => events.map((event) => ({ taskId: taskIdOf(event), ...event, people })))
  })

  /** Returns no events if a failover has lost the events, or if events of other streams used up the query's bytes. */
  async function read({ projectId, version }: VisibleProject, position: Position): Promise<EncodedEvents> {
    const { seq: after, id: afterId } = position
    const upTo = Math.min(version, after + maxEvents)
    const found = await readTogether({ projectId, after, afterId, upTo, limit: maxEvents })
    const [first, last] = [found[0] as Partial<RangeRow> | undefined, found.at(-1)]
    if (first?.previousId && first.previousId !== afterId) throw aheadOfProject(lastEventIdHeader)
    if (first?.seq !== after + 1) await requireRetained(oldestSeq, projectId, after)
    const events = found.map((event) => {
      const { seq, type, actorId } = event
      const data = JSON.stringify(eventView.of(event))
      return { seq, type, actorId, text: `id: ${seq}\nevent: ${type}\ndata: ${data}\n\n` }
    })
    const end = last ? { seq: last.seq, id: last.id } : position
    return { events, bytes: encode(events.map(({ text }) => text).join('')), end }
  }

  const cached = new LRUCache<string, EncodedEvents, { project: VisibleProject; position: Position }>({
    ...{ maxSize: maxCacheBytes, ttl: cachedMs, ignoreFetchAbort: true },
    sizeCalculation: ({ bytes }) => overheadBytes + 3 * bytes.length,
    fetchMethod: (_key, _stale, { context: { project, position } }) => read(project, position),
  })
  return async (project: VisibleProject, position: Position): Promise<EncodedEvents> => {
    if (subscriptions.countOf(project.projectId) < 2) return read(project, position)
    // The key contains the event's id, because after a failover another event may have this seq.
    const key = `${project.projectId} ${position.seq} ${position.id}`
    const encoded = (await cached.fetch(key, { context: { project, position } }))!
    if (encoded.events.length === 0) cached.delete(key)
    return encoded
  }
}
