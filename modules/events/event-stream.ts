import type { VersionRef } from '../../src/commit/recent-commits.ts'
import type { ReadRequest } from '../../src/commands/query.ts'
import type { Subscription } from '../../src/subscriptions/subscription.ts'
import { requireVisible, type VisibleProject } from '../../src/reads/lookups.ts'
import type { Services } from '../../src/services.ts'
import { unavailable } from '../../src/responses/errors.ts'
import { streamStart, encode, heartbeat, heartbeatMs } from '../../src/responses/server-sent-events.ts'
import { type EncodedEvents, openEncodedEvents, type Position } from './encoded-events.ts'
import { aheadOfProject, type FeedQuery, lastEventIdHeader } from './parameters.ts'

/** After this many events of other types, a stream sends an `id`, so that a client that reconnects resumes there. */
const maxEventsWithoutId = 1_000

/** The reader of a stream: the project, the version up to which rights were checked, and the position in the log. */
interface Reader {
  project: VisibleProject
  checked: VersionRef
  position: Position
}

/** Streams the events of one project. The reader's rights are checked after an event is read and before it is sent. */
export function openEventStream(services: Services) {
  const { subscriptions } = services
  const eventsAfter = openEncodedEvents(services)
  const checkReader = openReauthorize(services)

  return async function* (read: ReadRequest, first: VisibleProject, query: FeedQuery, signal: AbortSignal) {
    let [project, checked]: [VisibleProject, VersionRef] = [first, first]
    let position: Position = { seq: query.after, id: eventIdAt(project, query.after) }
    const subscription = subscriptions.subscribe([project], signal)
    const lag = subscriptions.lags.track(signal, subscription, position.seq)
    let [lastIdSent, sentAt] = [position.seq, performance.now()]
    yield streamStart(idLine(position.seq))
    while (!signal.aborted) {
      lag.update(position.seq, project.version) // the previous chunk is sent by now
      if (subscriptions.hasEnded()) throw unavailable('This process ends')
      if (position.seq < project.version) {
        const encoded = await eventsAfter(project, position)
        const reader = { project, checked, position }
        ;({ project, checked } = await checkReader(read, reader, encoded, subscription))
        position = encoded.end
        const needsId = position.seq - lastIdSent > maxEventsWithoutId
        const chunk = framesOf(encoded, query.types) ?? (needsId ? heartbeat(idLine(position.seq)) : null)
        if (!chunk) continue
        yield chunk
      } else {
        const leftMs = sentAt + heartbeatMs - performance.now()
        if (leftMs > 0) {
          const version = await subscription.waitForNewer(project.version, leftMs)
          if (version) project = { ...project, version }
          // The version may be lower than before, after a failover that lost events.
          else checked = project = await reauthorize(services, read, project.projectId, position)
          continue
        }
        yield heartbeat(idLine(position.seq))
      }
      ;[lastIdSent, sentAt] = [position.seq, performance.now()]
    }
  }
}

/**
 * Checks that a reader may see the events that were read. The role is read again, unless this process committed all changes
 * since the last check within the last half second, and none changed a role.
 * @throws HttpError 400, 401 or 404
 */
export function openReauthorize(services: Pick<Services, 'authenticate' | 'findRole' | 'recent'>) {
  return async (
    read: ReadRequest,
    { project, checked, position }: Reader,
    encoded: EncodedEvents,
    subscription: Subscription,
  ): Promise<Omit<Reader, 'position'>> => {
    if (encoded.end.seq === position.seq) {
      // No events were read: a failover may have lost events of which the stream was notified.
      subscription.resetTo(position.seq)
      const now = await reauthorize(services, read, project.projectId, position)
      return { project: now, checked: now }
    }
    const caller = await services.authenticate.caller(read.request)
    const unchanged = services.recent.sameRightsSince(project.projectId, checked)
    if (unchanged && unchanged.version >= Math.max(encoded.end.seq, project.version, subscription.notified))
      return { project, checked: unchanged }
    const now = await encoded.visibleTo(caller)
    // The check shared by all streams of the caller may be older than this stream's own.
    return { project: project.version > now.version ? project : now, checked: now }
  }
}

/**
 * Checks token and role after a wait, and that no failover or restore has lost the events that were sent.
 * @throws HttpError 400, 401 or 404
 */
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

/** Returns the id of the event at a seq if that is the project's version. */
const eventIdAt = ({ version, lastEventId }: VisibleProject, seq: number) =>
  seq === version ? lastEventId : undefined

/** Without data this is no event for the client, but sets where it resumes. */
const idLine = (position: number) => `id: ${position}\n`

function framesOf({ events, bytes }: EncodedEvents, types: string[] | null) {
  if (!types) return bytes.length > 0 ? bytes : null
  const text = events.flatMap((event) => (types.includes(event.type) ? event.text : [])).join('')
  return text ? encode(text) : null
}
