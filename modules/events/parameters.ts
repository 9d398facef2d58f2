import { type Static, Type } from '@sinclair/typebox'
import { checked, ExceptActor, Input } from '../../src/schema/input.ts'
import { Limit, readLimit } from '../../src/reads/pages.ts'
import { isCount } from '../../src/schema/text.ts'
import { aheadOfProject, badRequest } from '../../src/responses/errors.ts'
import { accountIdOf, canonicalId } from '../../src/id-format.ts'
import { model } from '../modules.ts'
import type { EventStream } from '../../src/commands/query.ts'
import { view } from '../../src/model/view.ts'
import { Id, sampleId, named } from '../../src/schema/response.ts'
import { eventView } from './schema.ts'

export const maxSeq = 999_999_999_999_999
export const maxWaitSeconds = 25

const isCountTo = (value: unknown, { maximum }: { maximum: number }) =>
  isCount(value) && Number(value) <= maximum

const { eventTypes } = model
const isType = (name: string) => (eventTypes as string[]).includes(name)
const isTypes = (value: unknown) => typeof value === 'string' && value.split(',').every(isType)

// The name is `fallback` because Elysia would add a `default` to each request. A stream without `after` differs from a
// stream with `after=0`.
const Count = (maximum: number, description: string, example: number) =>
  Type.Optional(
    checked<string>(isCountTo, {
      type: 'integer',
      minimum: 0,
      maximum,
      fallback: 0,
      description,
      examples: [example],
    }),
  )

export const EventTypes = () =>
  Type.Optional(
    checked<string>(isTypes, {
      type: 'string',
      description: `Event types, separated by commas: ${eventTypes.join(', ')}`,
      examples: ['task.created,task.updated'],
    }),
  )

/** The kinds of rows in a snapshot: tasks, and the rows that are loaded with their project. */
export const snapshotKinds = [
  'tasks',
  ...model.all.flatMap(({ parent, load, plural }) =>
    parent === 'project' && load === 'with project' ? plural : [],
  ),
]
function isKinds(value: unknown): boolean {
  const kinds = String(value).split(',')
  return kinds.every((kind) => snapshotKinds.includes(kind)) && new Set(kinds).size === kinds.length
}

export const EventsQuery = Input({
  after: Count(maxSeq, 'A whole number: the seq of the last event that the client has, or 0', 41),
  limit: Limit(100, 500),
  wait: Count(
    maxWaitSeconds,
    `A whole number from 0 to ${maxWaitSeconds}: how many seconds to wait for events`,
    25,
  ),
  types: EventTypes(),
  exceptActor: Type.Optional(ExceptActor()),
  snapshot: Type.Optional(
    checked<string>(isKinds, {
      type: 'string',
      description: `A list of ${snapshotKinds.join(', ')}, separated by commas, each once: a stream begins with these rows`,
      examples: ['tasks,labels'],
    }),
  ),
})

export type FeedQuery = ReturnType<typeof readEventsRequest>

export const lastEventIdHeader = 'Last-Event-ID'

const badLastEventId = () => badRequest(`${lastEventIdHeader} must be the seq of an event`)

export const snapshotNeedsStream = () => badRequest('snapshot needs the header Accept: text/event-stream')

export const parameterErrors = () => [
  ...[aheadOfProject(), aheadOfProject(lastEventIdHeader), badLastEventId(), snapshotNeedsStream()],
]

export function lastEventId({ headers }: Request): number | null {
  const value = headers.get(lastEventIdHeader)
  if (!value) return null
  if (!isCount(value)) throw badLastEventId()
  return Number(value)
}

export const readEventsRequest = (
  { after, limit, types, exceptActor, wait, snapshot }: Static<typeof EventsQuery>,
  callerId: string,
) => ({
  after: Number(after ?? 0),
  limit: readLimit(limit, 100, 500),
  types: types?.split(',') ?? null,
  exceptActor: exceptActor === undefined ? null : accountIdOf(exceptActor, callerId),
  waitMs: Number(wait ?? 0) * 1_000,
  kinds: snapshot?.split(',') ?? null,
})

const maxProjects = 1_000

const isSeq = (value: unknown): boolean =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= maxSeq
function isPositions(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const entries = Object.entries(value)
  return entries.length <= maxProjects && entries.every(([id, seq]) => id.length <= 100 && isSeq(seq))
}

const Positions = (description: string) =>
  checked<Record<string, number>>(isPositions, {
    type: 'object',
    additionalProperties: { type: 'integer', minimum: 0, maximum: maxSeq },
    maxProperties: maxProjects,
    description,
    examples: [{ [sampleId]: 41 }],
  })

const WholeNumber = (minimum: number, maximum: number, meaning: string, example: number) =>
  Type.Optional(
    Type.Integer({
      minimum,
      maximum,
      description: `A whole number from ${minimum} to ${maximum}: ${meaning}`,
      examples: [example],
    }),
  )

export const ReadMany = named(
  'ReadEvents',
  Input({
    after: Positions(
      `An object with at most ${maxProjects} project ids, each with a seq: the seq of the last event that the client has, or 0`,
    ),
    limit: WholeNumber(1, 500, 'the most events in the response, by default 100', 100),
    exceptActor: Type.Optional(ExceptActor()),
    wait: WholeNumber(0, maxWaitSeconds, 'how many seconds to wait for events', 0),
  }),
)

export function readPositions({ after }: Static<typeof ReadMany>): Map<string, number> {
  const seqs = new Map<string, number>()
  for (const [id, seq] of Object.entries(after)) {
    const projectId = canonicalId(id)
    if (seqs.has(projectId)) throw badRequest(`after.${projectId} is given more than once`)
    seqs.set(projectId, seq)
  }
  return seqs
}

export const aheadIn = (projectId: string) =>
  badRequest(`after.${projectId} is ahead of the project: it has no such version`)

export const manyEventsView = view<never>({
  name: 'EventsOfProjects',
  schema: Type.Object({
    events: Type.Array(
      named('ProjectEvent', Type.Object({ projectId: Id('The project'), ...eventView.schema.properties })),
      { description: 'The events of each project, in order' },
    ),
    after: Positions('The value of `after` for the next request: the seq of the last event of each project'),
    gone: Type.Array(Type.String(), {
      description: 'Requested projects that the caller cannot see',
      examples: [[]],
    }),
  }),
  hasNoEtag: true,
})

export const streamedVersions: EventStream = {
  schema: named(
    'VersionStream',
    Type.String({
      description:
        'Server-sent events without `event`, whose `data` is `{projectId, version}`; the version is null if the caller can no longer see the project. An event of type `more`, whose `data` is `{told, last}`, means that the caller has projects after `last`, which the stream does not list. Before the service closes the stream, it sends an event of type `end`, whose `data` is an Error with the reason. While nothing changes, the service sends comments to keep the connection open.',
    }),
  ),
  example: `retry: 1700\n\ndata: {"projectId":"${sampleId}","version":42}\n\ndata: {"projectId":"${sampleId}","version":null}\n\n`,
}
