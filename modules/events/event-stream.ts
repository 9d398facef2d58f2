import type { VersionRef } from '../../src/reads/versions.ts'
import type { ReadRequest } from '../../src/commands/query.ts'
import type { Subscription } from '../../src/subscriptions/subscription.ts'
import { requireVisible, type VisibleProject } from '../../src/reads/lookups.ts'
import type { Services } from '../../src/services.ts'
import { unavailable } from '../../src/responses/errors.ts'
import { streamStart, encode, heartbeat, heartbeatMs } from '../../src/responses/server-sent-events.ts'
import { type EncodedEvents, openEncodedEvents, type Position } from './encoded-events.ts'
import { aheadOfProject, type FeedQuery, lastEventIdHeader } from './parameters.ts'

/** After this many events of other types, a stream sends an `id`, so that a reconnecting client skips these events. */
const maxEventsWithoutId = 1_000

/** `checked`: the version at which the client's rights were last checked. */
interface Reader {
  project: VisibleProject
  checked: VersionRef
  position: Position
}

/** Checks the client's rights after it reads events and before it sends the events. */
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
      lag.update(position.seq, project.version)
      if (subscriptions.hasEnded()) throw unavailable('The server is shutting down; connect again')
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
          // A failover may have lost events; then the version is lower than before.
          else checked = project = await reauthorize(services, read, project.projectId, position)
          continue
        }
        yield heartbeat(idLine(position.seq))
      }
      ;[lastIdSent, sentAt] = [position.seq, performance.now()]
    }
  }
}

/** Does not query the role if this process committed all changes since the last check and no change affects a role. */
export function openReauthorize(services: Pick<Services, 'authenticate' | 'findRole' | 'recent'>) {
  return async (
    read: ReadRequest,
    { project, checked, position }: Reader,
    encoded: EncodedEvents,
    subscription: Subscription,
  ): Promise<Omit<Reader, 'position'>> => {
    if (encoded.end.seq === position.seq) {
      // The stream was notified of events, but read none: a failover may have lost these events.
      subscription.resetTo(position.seq)
      const now = await reauthorize(services, read, project.projectId, position)
      return { project: now, checked: now }
    }
    const caller = await services.authenticate.caller(read.request)
    const unchanged = services.recent.sameRightsSince(project.projectId, checked)
    if (unchanged && unchanged.version >= Math.max(encoded.end.seq, project.version, subscription.notified))
      return { project, checked: unchanged }
    const now = await encoded.visibleTo(caller)
    // The check may have run earlier, for another stream of the caller, so `now.version` may be older.
    return { project: project.version > now.version ? project : now, checked: now }
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

function framesOf({ events, bytes }: EncodedEvents, types: string[] | null) {
  if (!types) return bytes.length > 0 ? bytes : null
  const text = events.flatMap((event) => (types.includes(event.type) ? event.text : [])).join('')
  return text ? encode(text) : null
}
