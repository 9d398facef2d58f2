import { type Static, Type } from '@sinclair/typebox'
import type { EventStream } from '../../src/commands/query.ts'
import { canonicalId } from '../../src/ids.ts'
import { view } from '../../src/model/view.ts'
import { Id, sampleId } from '../../src/schema/response.ts'
import { checked, Input } from '../../src/schema/input.ts'
import { named } from '../../src/schema/named.ts'
import { badRequest } from '../../src/responses/errors.ts'
import { mostSeconds, mostSeq } from '../events/parameters.ts'
import { eventView } from '../events/schema.ts'

const mostProjects = 1_000

const isSeq = (value: unknown): boolean =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= mostSeq
function isPositions(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const entries = Object.entries(value)
  return entries.length <= mostProjects && entries.every(([id, seq]) => id.length <= 100 && isSeq(seq))
}

/** The seq of the last event that is known of each project. */
const Positions = (description: string) =>
  checked<Record<string, number>>(isPositions, {
    type: 'object',
    additionalProperties: { type: 'integer', minimum: 0, maximum: mostSeq },
    maxProperties: mostProjects,
    description,
    examples: [{ [sampleId]: 41 }],
  })

const Whole = (minimum: number, maximum: number, meaning: string, example: number) =>
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
      `An object of at most ${mostProjects} ids of projects, each with a seq: of the last event that is known of it, 0 for none`,
    ),
    limit: Whole(1, 500, 'the most events in the answer, 100 unless told', 100),
    wait: Whole(0, mostSeconds, 'the seconds to hold an answer that has nothing to tell', 0),
  }),
)

/** The seqs after which a read of many feeds begins, by project. @throws HttpError 400 for a project given twice */
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

/** What a read of many feeds answers: written out where it is made, for it is no row. */
export const manyEventsView = view<never>({
  name: 'EventsOfProjects',
  schema: Type.Object({
    events: Type.Array(
      named('ProjectEvent', Type.Object({ projectId: Id('The project'), ...eventView.schema.properties })),
      { description: 'Of each project in order' },
    ),
    after: Positions('Where to go on: the seq of the last event of each project that is known by now'),
    gone: Type.Array(Type.String(), {
      description: 'Projects asked for that the caller may not see, or no longer',
      examples: [[]],
    }),
  }),
  hasNoEtag: true,
})

/** What the document says of the stream of all projects. */
export const streamedVersions: EventStream = {
  schema: named(
    'VersionStream',
    Type.String({
      description:
        'Server-sent events without a name, whose `data` is `{projectId, version}`; the version is null of a project that went. One of type `more` says that there are more projects than are told. One of type `end` says as an Error why the stream ends. Comments come when there is nothing to tell.',
    }),
  ),
  example: `retry: 1700\n\ndata: {"projectId":"${sampleId}","version":42}\n\ndata: {"projectId":"${sampleId}","version":null}\n\n`,
}
