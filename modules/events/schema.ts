import { type TObject, Type } from '@sinclair/typebox'
import { entityNames } from '../../drizzle/entities.ts'
import { view } from '../../src/commands/view.ts'
import { Id, sampleId, Timestamp } from '../../src/schema/answer.ts'
import { named } from '../../src/schema/named.ts'
import { OneOf } from '../../src/schema/text.ts'
import { commentView } from '../comments/schema.ts'
import { serviceAccountSummary, tokenSummary, webhookSummary } from '../creations/schema.ts'
import { memberView } from '../members/schema.ts'
import { projectView } from '../projects/schema.ts'
import { subtaskView } from '../subtasks/schema.ts'
import { taskView } from '../tasks/schema.ts'
import { eventTypes } from '../event-types.ts'
import { type ReadEvent, shownEvent } from './views.ts'

const some = (of: string, { properties }: TObject) =>
  named(`${of}Fields`, Type.Partial(Type.Object(properties)))

const TaskWithAll = Type.Object({
  ...taskView.schema.properties,
  subtasks: Type.Array(subtaskView.schema, { description: 'Of a task that moved in: those that came along' }),
  comments: Type.Array(commentView.schema, { description: 'Of a task that moved in: those that came along' }),
})

const WebhookWithChanged = Type.Object({
  ...webhookSummary.schema.properties,
  changed: Type.Array(Type.String(), {
    description: 'Of an update: the names of the fields that it changed, `secret` and `cursor` among them',
    examples: [['url']],
  }),
})

const Side = (description: string, example: object) =>
  Type.Union(
    [
      some('Project', projectView.schema),
      some('Member', memberView.schema),
      some('Task', TaskWithAll),
      some('Subtask', subtaskView.schema),
      some('Comment', commentView.schema),
      some('Webhook', WebhookWithChanged),
      some('ServiceAccount', serviceAccountSummary.schema),
      some('Token', tokenSummary.schema),
      Type.Null(),
    ],
    { description, examples: [example] },
  )

export const eventView = view<ReadEvent>({
  name: 'Event',
  schema: Type.Object({
    seq: Type.Integer({ minimum: 1, description: 'Counts up in its project: 1, 2, 3 …', examples: [42] }),
    id: Id('The event'),
    type: OneOf('EventType', eventTypes),
    entity: OneOf('Entity', entityNames),
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
