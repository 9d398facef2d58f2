import type { Query, ReadRequest } from '../../src/commands/query.ts'
import { moreMark, mostTold, type State } from '../../src/subscriptions/standing.ts'
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
import { openStream } from '../events/stream.ts'
import { manyEventsView, streamedVersions } from './schema.ts'

const about =
  'Server-sent events: first every project that the caller may see with its version, as `{projectId, version}`, then each that has moved, or came. One that is out of sight (deleted, or the caller was removed) comes with the version null. Of more than 1,000 projects 1,000 are told, first those with the lowest ids, and an event of type `more` says that there are others: `GET /projects` lists them, `POST /events/read` reads what happens there. These are states and not a history: who reconnects gets all of them again, who is slow the newest of each.'

export function followProjects(services: Services): Query {
  const stream = openStream(services)
  return {
    about,
    operation: { id: 'followProjects', tag: 'Events' },
    view: manyEventsView,
    eventStream: streamedVersions,
    isStreamOnly: true,
    read: async (reading) => stream(reading, (signal) => overview(services, reading, signal)),
  }
}

async function* overview(
  { authenticate, subscriptions }: Services,
  { request, caller }: ReadRequest,
  signal: AbortSignal,
): Chunks {
  const listener = await subscriptions.listen(caller.userId, signal)
  yield streamStart()
  let saidAt = performance.now()
  while (!signal.aborted) {
    if (subscriptions.hasEnded()) throw unavailable('This process ends')
    const leftMs = saidAt + heartbeatMs - performance.now()
    if (leftMs > 0) await listener.news(leftMs)
    const now = await authenticate.caller(request)
    const isShown = ({ projectId }: State) => projectId === moreMark || isWithinToken(now, projectId)
    const text = listener.take().filter(isShown).map(messageOf).join('')
    if (!text && performance.now() < saidAt + heartbeatMs) continue
    yield text ? encode(text) : heartbeat()
    saidAt = performance.now()
  }
}

/** A project has no name, so that `onmessage` of an EventSource receives it, and no id: no stream can resume there. */
function messageOf(state: State): string {
  if (state.projectId !== moreMark) return `data: ${JSON.stringify(state)}\n\n`
  return state.version ? `event: more\ndata: ${JSON.stringify({ told: mostTold })}\n\n` : ''
}
