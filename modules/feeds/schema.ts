import { Type } from '@sinclair/typebox'
import type { Streamed } from '../../src/commands/query.ts'
import { view } from '../../src/model/view.ts'
import { Id, sampleId } from '../../src/schema/answer.ts'
import { named } from '../../src/schema/named.ts'
import { Positions } from './positions.ts'
import { eventView } from '../events/schema.ts'

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
  of: () => ({}),
  untagged: true,
})

/** What the document says of the stream of all projects. */
export const streamedVersions: Streamed = {
  schema: named(
    'VersionStream',
    Type.String({
      description:
        'Server-sent events without a name, whose `data` is `{projectId, version}`; the version is null of a project that went. One of type `more` says that there are more projects than are told. One of type `end` says as an Error why the stream ends. Comments come when there is nothing to tell.',
    }),
  ),
  example: `retry: 1700\n\ndata: {"projectId":"${sampleId}","version":42}\n\ndata: {"projectId":"${sampleId}","version":null}\n\n`,
}
