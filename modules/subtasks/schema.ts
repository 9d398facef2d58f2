import { Type } from '@sinclair/typebox'
import type { SubtaskRow } from '../../drizzle/rows.ts'
import { Id, Timestamp } from '../../src/core/docs.ts'
import { Body, Query } from '../../src/core/doors.ts'
import { Cursor, Limit } from '../../src/core/pages.ts'
import { Text } from '../../src/core/text.ts'

const Title = Text(1, 500, 'Sharpen the pencil')
const Completed = Type.Boolean({ description: 'True or false', examples: [true] })

export const SubtaskView = Type.Object({
  id: Id('The subtask'),
  title: Type.String({ examples: ['Sharpen the pencil'] }),
  completed: Type.Boolean({ description: 'False when created', examples: [false] }),
  taskId: Id('The task it belongs to'),
  createdAt: Timestamp('When it was created'),
})

export const CreateSubtaskBody = Body({ title: Title }, SubtaskView)
export const UpdateSubtaskBody = Body(
  { title: Type.Optional(Title), completed: Type.Optional(Completed) },
  SubtaskView,
)
export const ListSubtasksQuery = Query({ limit: Limit(50, 200), cursor: Cursor() })

export const subtaskView = ({ id, title, completed, taskId, createdAt }: SubtaskRow) => ({
  id,
  title,
  completed,
  taskId,
  createdAt,
})
