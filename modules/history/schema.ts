import { Type } from '@sinclair/typebox'
import { view } from '../../src/model/view.ts'
import { Id } from '../../src/schema/answer.ts'
import { eventView } from '../events/schema.ts'
import { type ReadEvent, shownEvent } from '../events/views.ts'

/** An event of a task, which may have been in several projects. */
export const taskEventView = view<ReadEvent>({
  name: 'TaskEvent',
  schema: Type.Object({ projectId: Id('The project that counts it'), ...eventView.schema.properties }),
  of: (event) => ({ projectId: event.projectId, ...shownEvent(event) }),
})
