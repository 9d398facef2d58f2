import { type TProperties, Type } from '@sinclair/typebox'
import type { Entity } from '../../src/model/entities.ts'
import { titleOf } from '../../src/model/model.ts'
import { answerExample } from '../../src/openapi/example.ts'
import type { EventStream } from '../../src/commands/query.ts'
import { view } from '../../src/model/view.ts'
import { Id, sampleId, Timestamp } from '../../src/schema/response.ts'
import { named } from '../../src/schema/named.ts'
import { OneOf } from '../../src/schema/text.ts'
import { model } from '../modules.ts'
import { type ReadEvent, shownEvent } from './views.ts'

const extraFields: Partial<Record<Entity, TProperties>> = {
  task: Object.fromEntries(
    model.ofTask.map(({ plural, view }) => [
      plural,
      Type.Array(view.schema, { description: 'For `task.moved_in`: the children that moved with the task' }),
    ]),
  ),
  webhook: {
    changed: Type.Array(Type.String(), {
      description: 'For an update: the names of the changed fields, including `secret` and `cursor`',
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
    seq: Type.Integer({ minimum: 1, description: 'Counts up in its project: 1, 2, 3 …', examples: [42] }),
    id: Id('The event'),
    type: OneOf('EventType', model.eventTypes),
    entity: OneOf('Entity', model.names),
    entityId: Id('The changed entity'),
    taskId: Type.Union([Id('The task that changed, or whose child changed'), Type.Null()], {
      description: 'The task that changed, or whose child changed; null for other entities',
      examples: [sampleId],
    }),
    batch: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
      description: 'For events of one commit: the seq of the first; null for a single event',
      examples: [null],
    }),
    undoes: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'For an undo: the seq of the event that it takes back',
        examples: [41],
      }),
    ),
    actor: named(
      'Actor',
      Type.Object({
        id: Id('The user who made the change'),
        name: Type.Union([Type.String(), Type.Null()], {
          description: 'The current name; null once the account is deleted',
          examples: ['Ada Lovelace'],
        }),
      }),
    ),
    at: Timestamp('When the change was committed'),
    before: Side('The state before: null for a new entity; for an update only the changed fields', {
      status: 'TODO',
    }),
    after: Side('The state after: null for a deleted entity; for an update only the changed fields', {
      status: 'DONE',
    }),
  }),
  of: shownEvent,
})

const frame = (event: string) => `id: 42\nevent: ${event}\ndata: `

/** OpenAPI 3.1 can describe a stream only as one text. */
export const streamedEvents: EventStream = {
  schema: named(
    'EventStream',
    Type.String({
      description:
        'Server-sent events: `id` is the seq, `event` the type, `data` an Event. An event of type `end` has an Error as its data, which says why the stream ends. Without events the service sends comments to keep the connection open.',
    }),
  ),
  example: `retry: 1700\nid: 41\n\n${frame(model.eventTypes[0]!)}${JSON.stringify(answerExample(eventView.schema))}\n\n`,
}
