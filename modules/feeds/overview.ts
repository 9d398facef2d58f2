import type { Query, ReadRequest } from '../../src/commands/query.ts'
import { moreKey, maxListedProjects, type ListedVersion } from '../../src/subscriptions/visible-projects.ts'
import { isWithinToken } from '../../src/identity/rights.ts'
import type { Services } from '../../src/services.ts'
import { unavailable } from '../../src/responses/errors.ts'
import {
  streamStart,
  type Chunks,
  encode,
  heartbeat,
  heartbeatMs,
} from '../../src/responses/server-sent-events.ts'
import { openStreamResponse } from '../events/stream.ts'
import { manyEventsView, streamedVersions } from './schema.ts'

const about =
  'Server-sent events: first every project that the caller may see, as `{projectId, version}`; then each project with a new version, and each project that becomes visible. The version is null for a project that the caller can no longer see. The stream lists at most 1,000 projects, first those with the lowest ids. An event of type `more` means that there are others: `GET /projects` lists them, and `POST /events/read` reads their events. The events are states, not a history: a client that reconnects gets all of them again, and a slow client gets only the newest state of each project.'

export function followProjects(services: Services): Query {
  const stream = openStreamResponse(services)
  return {
    about,
    operation: { id: 'followProjects', tag: 'Events' },
    view: manyEventsView,
    eventStream: streamedVersions,
    isStreamOnly: true,
    read: async (reading) => stream(reading, (signal) => streamProjects(services, reading, signal)),
  }
}

async function* streamProjects(
  { authenticate, subscriptions }: Services,
  { request, caller }: ReadRequest,
  signal: AbortSignal,
): Chunks {
  const subscription = await subscriptions.subscribeToAll(caller.userId, signal)
  yield streamStart()
  let sentAt = performance.now()
  while (!signal.aborted) {
    if (subscriptions.hasEnded()) throw unavailable('This process ends')
    const leftMs = sentAt + heartbeatMs - performance.now()
    if (leftMs > 0) await subscription.waitForChanges(leftMs)
    const now = await authenticate.caller(request)
    const isVisible = ({ projectId }: ListedVersion) => projectId === moreKey || isWithinToken(now, projectId)
    const text = subscription.takeChanges().filter(isVisible).map(messageOf).join('')
    if (!text && performance.now() < sentAt + heartbeatMs) continue
    yield text ? encode(text) : heartbeat()
    sentAt = performance.now()
  }
}

/** No `event`, so that `onmessage` of an EventSource receives it; no `id`, because the stream cannot be resumed. */
function messageOf(state: ListedVersion): string {
  if (state.projectId !== moreKey) return `data: ${JSON.stringify(state)}\n\n`
  return state.version ? `event: more\ndata: ${JSON.stringify({ told: maxListedProjects })}\n\n` : ''
}
