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
  'Sends server-sent events with the data `{projectId, version}`: first one for every project that the caller may see, then one for each project that gets a new version or becomes visible. The version is null for a project that the caller can no longer see. The stream lists at most 1,000 projects, those with the lowest ids. An event of type `more` means that the caller has more projects: `GET /projects` lists them, and `POST /events/read` reads their events. The stream sends states, not a history: a client that reconnects gets the state of every project again, and a slow client gets only the newest state of each project.'

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
    if (subscriptions.hasEnded()) throw unavailable('The server is shutting down; connect again')
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

/**
 * A message with a version has no `event`, so that an EventSource calls `onmessage`. No message has an `id`, because a
 * stream cannot be resumed.
 */
function messageOf(state: ListedVersion): string {
  if (state.projectId !== moreKey) return `data: ${JSON.stringify(state)}\n\n`
  return state.version ? `event: more\ndata: ${JSON.stringify({ told: maxListedProjects })}\n\n` : ''
}
