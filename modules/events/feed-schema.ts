import { type Static, Type } from '@sinclair/typebox'
import type { EventStream } from '../../src/commands/query.ts'
import { canonicalId } from '../../src/id-format.ts'
import { view } from '../../src/model/view.ts'
import { badRequest } from '../../src/responses/errors.ts'
import { checked, ExceptActor, Input } from '../../src/schema/input.ts'
import { Id, sampleId, named } from '../../src/schema/response.ts'
import { maxWaitSeconds, maxSeq } from './parameters.ts'
import { eventView } from './schema.ts'

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
