import { Type } from '@sinclair/typebox'
import type { SubtaskRow } from '../../drizzle/rows.ts'
import { Id, Timestamp } from '../../src/schema/response.ts'
import { IdOf, Input, OwnId, Name } from '../../src/schema/input.ts'
import { view } from '../../src/model/view.ts'

const Title = Name(500, 'Sharpen the pencil')
const Completed = Type.Boolean({ description: 'True or false', examples: [true] })

export const CreateSubtask = Input({ id: OwnId(), taskId: IdOf('task'), title: Title })
export const UpdateSubtask = Input({
  id: IdOf('subtask'),
  title: Type.Optional(Title),
  completed: Type.Optional(Completed),
})
export const SubtaskId = Input({ id: IdOf('subtask') })

export const subtaskView = view<SubtaskRow>({
  name: 'Subtask',
  schema: Type.Object({
    id: Id('The subtask'),
    title: Type.String({ description: 'The title of the subtask', examples: ['Sharpen the pencil'] }),
    completed: Type.Boolean({ description: 'Whether the subtask is completed', examples: [false] }),
    taskId: Id('The task that has the subtask'),
    createdAt: Timestamp('When the subtask was created'),
  }),
})
