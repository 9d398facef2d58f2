import { Type } from '@sinclair/typebox'
import type { Streamed } from '../../src/commands/query.ts'
import { answerExample } from '../../src/openapi/example.ts'
import { named } from '../../src/schema/named.ts'
import { model } from '../modules.ts'
import { eventView } from './schema.ts'

const frame = (event: string) => `id: 42\nevent: ${event}\ndata: `

/** What the document says of a stream: OpenAPI 3.1 knows all of it as one text. */
export const streamedEvents: Streamed = {
  schema: named(
    'EventStream',
    Type.String({
      description:
        'Server-sent events: `id` is the seq, `event` the type, `data` an Event. One of type `end` says as an Error why the stream ends. Comments come when there is nothing to tell.',
    }),
  ),
  example: `retry: 1700\nid: 41\n\n${frame(model.eventTypes[0]!)}${JSON.stringify(answerExample(eventView.schema))}\n\n`,
}
