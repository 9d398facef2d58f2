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

const besides: Partial<Record<Entity, TProperties>> = {
  task: Object.fromEntries(
    model.ofTask.map(({ plural, view }) => [
      plural,
      Type.Array(view.schema, { description: 'Of a task that moved in: those that came along' }),
    ]),
  ),
  webhook: {
    changed: Type.Array(Type.String(), {
      description: 'Of an update: the names of the fields that it changed, `secret` and `cursor` among them',
      examples: [['url']],
    }),
  },
}

const sides = model.all.map(({ name, view }) =>
  named(`${titleOf(name)}Fields`, Type.Partial(Type.Object({ ...view.schema.properties, ...besides[name] }))),
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
    entityId: Id('What it happened to'),
    taskId: Type.Union([Id('The task that it is about'), Type.Null()], {
      description: 'The task that it is about, or null',
      examples: [sampleId],
    }),
    batch: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
      description: 'Of what was committed as one: the seq of the first event of it; null of what came alone',
      examples: [null],
    }),
    undoes: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'Of what takes an event back: the seq of that event',
        examples: [41],
      }),
    ),
    actor: named(
      'Actor',
      Type.Object({
        id: Id('The user who did it'),
        name: Type.Union([Type.String(), Type.Null()], {
          description: 'What they are called now; null once the account is deleted',
          examples: ['Ada Lovelace'],
        }),
      }),
    ),
    at: Timestamp('When it happened'),
    before: Side('As it was: null of what is new, of a change only the fields that are others now', {
      status: 'TODO',
    }),
    after: Side('As it is then: null of what is gone, of a change only the fields that were others before', {
      status: 'DONE',
    }),
  }),
  of: shownEvent,
})

const frame = (event: string) => `id: 42\nevent: ${event}\ndata: `

/** A stream in the document: OpenAPI 3.1 describes all of it as one text. */
export const streamedEvents: EventStream = {
  schema: named(
    'EventStream',
    Type.String({
      description:
        'Server-sent events: `id` is the seq, `event` the type, `data` an Event. One of type `end` says as an Error why the stream ends. Comments come when there is nothing to tell.',
    }),
  ),
  example: `retry: 1700\nid: 41\n\n${frame(model.eventTypes[0]!)}${JSON.stringify(answerExample(eventView.schema))}\n\n`,
}
