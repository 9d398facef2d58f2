import { type TProperties, Type, type Static } from '@sinclair/typebox'
import type { EventStream } from '../../src/commands/query.ts'
import {
  childrenMovedIn,
  type ChangedFields,
  type Outcome,
  rowBefore,
  withDefaults,
} from '../../src/log/rows.ts'
import type { ChildOfTask, Entity, Rows } from '../../src/model/entities.ts'
import { isEqual, type StoredEvent } from '../../src/model/events.ts'
import { definitionOf, personIdOf, rowAfter, titleOf } from '../../src/model/model.ts'
import { view } from '../../src/model/view.ts'
import { responseExample } from '../../src/openapi/operation.ts'
import { named, Id, IdOrNull, OrNull, sampleId, Timestamp } from '../../src/schema/response.ts'
import { OneOf, isCount, checked, ExceptActor, Input, maxSeq, WholeNumber } from '../../src/schema/input.ts'
import type { User } from '../accounts/user.ts'
import { model } from '../modules.ts'
import { Limit, readLimit } from '../../src/reads/pages.ts'
import { aheadOfProject, badRequest } from '../../src/responses/errors.ts'
import { accountIdOf, canonicalId } from '../../src/id-format.ts'

export type People = ReadonlyMap<string, User>

export interface ReadEvent extends StoredEvent {
  taskId: string | null
  people: People
}

function shownRow(entity: Entity, row: Rows[Entity], people: People): object {
  const user = people.get(personIdOf(entity, row) ?? '')
  return definitionOf(entity).view.of(withDefaults(entity, row), user && { ...user, nameTag: '' })
}

export function peopleIn(event: StoredEvent): string[] {
  const { entity, actorId } = event
  const [row, after] = [event.before ? rowBefore(event) : null, rowAfter(event)]
  const shown = childrenIn(event).flatMap(([child, rows]) => rows.map((one) => personIdOf(child, one)))
  return [actorId, row && personIdOf(entity, row), after && personIdOf(entity, after), ...shown].filter(
    (id) => id !== null,
  )
}

/** Returns the event as responses show it: `before` and `after` are views of the rows. */
export function shownEvent(event: ReadEvent): object {
  const { seq, id, type, entity, entityId, taskId, batch = null, undoes, actorId, at, people } = event
  const actor = { id: actorId, name: people.get(actorId)?.name ?? null }
  const shown = (row: Rows[Entity] | null) => row && shownRow(entity, row, people)
  let [before, after] = [shown(rowBefore(event)), shown(rowAfter(event))]
  if (before && after) [before, after] = differences(before, after)
  if (after) after = withExtras(event, after)
  const undone = undoes ?? undefined
  const all = { seq, id, type, entity, entityId, taskId, batch, undoes: undone, actor, at, before, after }
  return type === 'task.released' ? { ...all, ...outcomeOf(event) } : all
}

const outcomeOf = ({ after }: StoredEvent) =>
  (after as Outcome | null)?.outcome ?? { failed: false, reason: null }

function withExtras(event: ReadEvent, after: object): object {
  if (event.type === 'webhook.updated') return { ...after, changed: (event.after as ChangedFields).changed }
  if (event.type !== 'task.moved_in') return after
  const lists = childrenIn(event).map(([child, rows]) => [
    definitionOf(child).plural,
    rows.map((row) => shownRow(child, row, event.people)),
  ])
  return { ...after, ...Object.fromEntries(lists) }
}

const childrenIn = (event: StoredEvent) =>
  Object.entries(childrenMovedIn(event) ?? {}) as [ChildOfTask, Rows[ChildOfTask][]][]

function differences(before: object, after: object): [object, object] {
  const has = after as Record<string, unknown>
  const changed = Object.entries(before).filter(([name, value]) => !isEqual(value, has[name]))
  return [Object.fromEntries(changed), Object.fromEntries(changed.map(([name]) => [name, has[name]]))]
}

const extraFields: Partial<Record<Entity, TProperties>> = {
  task: Object.fromEntries(
    model.ofTask.map(({ plural, view }) => [
      plural,
      Type.Array(view.schema, { description: 'Only in `task.moved_in`: the rows that moved with the task' }),
    ]),
  ),
  webhook: {
    changed: Type.Array(Type.String(), {
      description: 'Only in `webhook.updated`: the names of the changed fields, also `secret` and `cursor`',
      examples: [['url']],
    }),
  },
}

const sides = model.all.map(({ name, view }) =>
  named(
    `${titleOf(name)}Fields`,
    Type.Partial(Type.Object({ ...view.schema.properties, ...extraFields[name] })),
  ),
)

const Side = (description: string, example: object) =>
  Type.Union([...sides, Type.Null()], { description, examples: [example] })

export const eventView = view<ReadEvent>({
  name: 'Event',
  schema: Type.Object({
    seq: Type.Integer({ minimum: 1, description: 'The number in the project: 1, 2, 3 …', examples: [42] }),
    id: Id('The event'),
    type: OneOf('EventType', model.eventTypes),
    entity: OneOf('Entity', model.names),
    entityId: Id('The changed entity'),
    taskId: IdOrNull('The task that changed, or whose child changed; null for other entities'),
    batch: OrNull(
      Type.Integer({ minimum: 1 }),
      'If one commit has several events: the seq of the first event; otherwise null',
    ),
    undoes: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'If the event is part of an undo: the seq of the event that is undone',
        examples: [41],
      }),
    ),
    failed: Type.Optional(
      Type.Boolean({ description: 'Only in `task.released`: true if the claim was released with `failed`' }),
    ),
    reason: Type.Optional(
      OrNull(Type.String(), 'Only in `task.released`: the reason of the release, or null'),
    ),
    actor: named(
      'Actor',
      Type.Object({
        id: Id('The user who made the change'),
        name: OrNull(Type.String(), 'The current name; null after the account is deleted', 'Ada Lovelace'),
      }),
    ),
    at: Timestamp('When the change was committed'),
    before: Side('The entity before the change; null if it was created; in an update only changed fields', {
      status: 'TODO',
    }),
    after: Side('The entity after the change; null if it was deleted; in an update only changed fields', {
      status: 'DONE',
    }),
  }),
  of: shownEvent,
})

const frame = (event: string) => `id: 42\nevent: ${event}\ndata: `

/** OpenAPI 3.1 can describe the body of a stream only as a string. */
export const streamedEvents: EventStream = {
  schema: named(
    'EventStream',
    Type.String({
      description:
        'Server-sent events: `id` is the seq, `event` is the type, and `data` is an Event. With `snapshot`, the first events have the type `snapshot`, no `id`, and the data `{version, kind, rows}` with at most 200 rows, as lists with `asOf` show them; then follows an event of type `live` with the data `{version}` and the version as `id`. Before the service closes the stream, it sends an event of type `end`, whose `data` is an Error with the reason. While there are no events, the service sends comments to keep the connection open.',
    }),
  ),
  example: `retry: 1700\nid: 41\n\n${frame(model.eventTypes[0]!)}${JSON.stringify(responseExample(eventView.schema))}\n\n`,
}

export const maxWaitSeconds = 25

const isCountTo = (value: unknown, { maximum }: { maximum: number }) =>
  isCount(value) && Number(value) <= maximum

const { eventTypes } = model

const Names = (names: string[], description: string, example: string) => {
  const areNames = (value: unknown) =>
    String(value)
      .split(',')
      .every((name) => names.includes(name))
  return Type.Optional(checked<string>(areNames, { type: 'string', description, examples: [example] }))
}

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
  Names(eventTypes, `Event types, separated by commas: ${eventTypes.join(', ')}`, 'task.created,task.updated')

export const snapshotKinds = [
  'tasks',
  ...model.all.flatMap(({ parent, load, plural }) =>
    parent === 'project' && load === 'with project' ? plural : [],
  ),
]

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
  snapshot: Names(
    snapshotKinds,
    `A list of ${snapshotKinds.join(', ')}, separated by commas: a stream begins with these rows`,
    'tasks,labels',
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
  kinds: snapshot === undefined ? null : [...new Set(snapshot.split(','))],
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

export const ReadMany = named(
  'ReadEvents',
  Input({
    after: Positions(
      `An object with at most ${maxProjects} project ids, each with a seq: the seq of the last event that the client has, or 0`,
    ),
    limit: Type.Optional(WholeNumber(1, 500, 'the most events in the response, by default 100', 100)),
    exceptActor: Type.Optional(ExceptActor()),
    wait: Type.Optional(WholeNumber(0, maxWaitSeconds, 'how many seconds to wait for events', 0)),
  }),
)

export const readPositions = ({ after }: Static<typeof ReadMany>): Map<string, number> =>
  new Map(Object.entries(after).map(([id, seq]) => [canonicalId(id), seq]))

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
