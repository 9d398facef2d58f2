import { Type } from '@sinclair/typebox'
import type { CommentRow } from '../../drizzle/schema.ts'
import { Id, Timestamp } from '../../src/core/docs.ts'
import { Body, Query } from '../../src/core/doors.ts'
import { Cursor, Limit } from '../../src/core/pages.ts'
import { Text } from '../../src/core/text.ts'

export const CommentView = Type.Object({
  id: Id('The comment'),
  text: Type.String({ examples: ['The wheels need oil'] }),
  authorId: Id('The user who wrote it'),
  authorRemoved: Type.Boolean({ description: 'Their account has been deleted', examples: [false] }),
  taskId: Id('The task it belongs to'),
  createdAt: Timestamp('When it was written'),
  updatedAt: Timestamp('When it was last edited'),
})

export const CommentBody = Body({ text: Text(1, 20_000, 'The wheels need oil') }, CommentView)
export const ListCommentsQuery = Query({ limit: Limit(50, 200), cursor: Cursor() })

/** Who writes has an account; only lists meet authors whose account is gone. */
export const commentView = (
  { id, text, authorId, taskId, createdAt, updatedAt }: CommentRow,
  authorRemoved = false,
) => ({ id, text, authorId, authorRemoved, taskId, createdAt, updatedAt })
