import { type Static, Type } from '@sinclair/typebox'
import { checked, ExceptActor, Input } from '../../src/schema/input.ts'
import { Limit, readLimit } from '../../src/reads/pages.ts'
import { isCount } from '../../src/schema/text.ts'
import { badRequest } from '../../src/responses/errors.ts'
import { accountIdOf } from '../../src/id-format.ts'
import { model } from '../modules.ts'

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

export const aheadOfProject = (parameter = 'after') =>
  badRequest(`${parameter} is ahead of the project: it has no such version`)

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
