import { type Static, Type } from '@sinclair/typebox'
import type { Query, ReadRequest } from '../../src/commands/query.ts'
import { accountIdOf, canonicalId, isIdInAnyCase, nilId } from '../../src/id-format.ts'
import type { Module } from '../../src/module.ts'
import { nextLink } from '../../src/reads/pages.ts'
import { unavailable } from '../../src/responses/errors.ts'
import {
  streamStart,
  type Chunks,
  encode,
  heartbeat,
  heartbeatMs,
} from '../../src/responses/server-sent-events.ts'
import { checked, ExceptActor, Input } from '../../src/schema/input.ts'
import { sampleId } from '../../src/schema/response.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { Services } from '../../src/services.ts'
import type { Subscription } from '../../src/subscriptions/subscription.ts'
import type { ListedVersion, VisibleProjects } from '../../src/subscriptions/visible-projects.ts'
import { openStreamResponse } from './event-stream.ts'
import { maxScannedEvents } from './rows.ts'
import { manyEventsView, streamedVersions } from './schema.ts'
import { projectHistory, taskHistory } from './history.ts'
import { listEvents, readManyEvents } from './reads.ts'

export const events: Module = {
  reads: (services) => [
    ['/projects/:id/events', listEvents(services), 'List events'],
    ['/projects/:id/history', projectHistory(services), "Read a project's history"],
    ['/tasks/:id/history', taskHistory(services), "Read a task's history"],
    ['/events', followProjects(services), 'Follow all projects'],
  ],
  routes: (services) => [
    ['post', '/events/read', readManyEvents(services), 'Read the events of many projects'],
  ],
}

const about =
  'Sends server-sent events with the data `{projectId, version}`: first one for every project that the caller may see, then one for each project that gets a new version or becomes visible. The version is null for a project that the caller can no longer see. A stream lists about 1,000 projects, in the order of their ids. If the caller has more projects, an event of type `more` has the data `{told, last}`: the number of listed projects, and the id of the last one. `afterProject={last}` opens a stream of the next projects; if there are more projects at the start, the Link header leads to it. The stream sends states, not a history: a client that reconnects gets the state of every project again, and a slow client gets only the newest state of each project. With `exceptActor`, a project whose new versions are all by this account is left out.'

const ProjectsQuery = Input({
  afterProject: Type.Optional(
    checked<string>(isIdInAnyCase, {
      type: 'string',
      format: 'uuid',
      description: 'The id of a project: the stream lists the projects after this id',
      examples: [sampleId],
    }),
  ),
  exceptActor: Type.Optional(ExceptActor()),
})

function followProjects(services: Services): Query {
  const { subscriptions } = services
  const stream = openStreamResponse(services)
  return {
    about,
    input: ProjectsQuery,
    operation: { id: 'followProjects', tag: 'Events' },
    view: manyEventsView,
    eventStream: streamedVersions,
    isStreamOnly: true,
    read: (reading) =>
      stream(reading, async (signal) => {
        const { userId, token } = reading.caller
        const { afterProject = nilId, exceptActor } = reading.query as Static<typeof ProjectsQuery>
        const scope = { userId, afterProject: canonicalId(afterProject), projects: token?.projects ?? null }
        const { page, subscription } = await subscriptions.subscribeToAll(scope, signal)
        const { more } = page
        const actorId = exceptActor && accountIdOf(exceptActor, userId)
        const echoes = actorId ? { actorId, isCaller: actorId === userId } : undefined
        return {
          headers: more && { link: nextLink(reading.request.url, 'afterProject', more.last) },
          chunks: streamProjects(services, reading, page, subscription, signal, echoes),
        }
      }),
  }
}

/** The account whose changes a stream leaves out. */
interface Echoes {
  actorId: string
  isCaller: boolean
}

async function* streamProjects(
  { authenticate, database, subscriptions }: Services,
  { request }: ReadRequest,
  page: VisibleProjects,
  subscription: Subscription,
  signal: AbortSignal,
  echoes?: Echoes,
): Chunks {
  yield streamStart()
  let sentAt = performance.now()
  let sent: VisibleProjects['versions'] | undefined
  let isFull = false
  while (!signal.aborted) {
    if (subscriptions.hasEnded()) throw unavailable('The server is shutting down; connect again')
    if (page.isOverfull) throw unavailable('The stream has too many projects; connect again')
    const leftMs = sentAt + heartbeatMs - performance.now()
    if (leftMs > 0 && sent === page.versions) await subscription.waitForNewer(0, leftMs)
    await authenticate.caller(request)
    const [changed, before] = [page.changesSince(sent), sent]
    sent = page.versions
    const shown = echoes && before ? await withoutEchoes(database.reads, echoes, changed, before) : changed
    const more: VisibleProjects['more'] = isFull ? undefined : page.more
    isFull ||= more !== undefined
    const text = shown.map(messageOf).join('') + (more ? moreMessage(more) : '')
    if (!text && performance.now() < sentAt + heartbeatMs) continue
    yield text ? encode(text) : heartbeat()
    sentAt = performance.now()
  }
}

/**
 * A message with a version has no `event`, so that an EventSource calls `onmessage`. No message has an `id`, because a
 * stream cannot be resumed.
 */
const messageOf = (state: ListedVersion): string => `data: ${JSON.stringify(state)}\n\n`
const moreMessage = (more: VisibleProjects['more']): string =>
  `event: more\ndata: ${JSON.stringify(more)}\n\n`

/**
 * Leaves out projects whose new versions since `sent` are all by the actor. A project that becomes visible is left out only
 * if the caller is the actor and made all its versions.
 */
async function withoutEchoes(
  sql: Sql,
  { actorId, isCaller }: Echoes,
  changed: ListedVersion[],
  sent: VisibleProjects['versions'],
): Promise<ListedVersion[]> {
  let left = maxScannedEvents
  const ranges = changed.flatMap(({ projectId, version }) => {
    const after = sent.get(projectId) ?? (isCaller ? 0 : Infinity)
    const count = (version ?? 0) - after
    if (count <= 0 || count > left) return []
    left -= count
    return { projectId, after, version }
  })
  if (ranges.length === 0) return changed
  const echoes = await sql<{ projectId: string }[]>`
    select q."projectId" as project_id from jsonb_to_recordset(${JSON.stringify(ranges)}::text::jsonb)
      as q("projectId" uuid, after bigint, version bigint)
    where q.version - q.after = (select count(*) from events e where e.project_id = q."projectId"
      and e.seq > q.after and e.seq <= q.version and e.actor_id = ${actorId})`
  const leftOut = new Set(echoes.map(({ projectId }) => projectId))
  return changed.filter(({ projectId }) => !leftOut.has(projectId))
}
