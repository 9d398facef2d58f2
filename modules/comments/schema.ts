import { Type } from '@sinclair/typebox'
import type { CommentRow } from '../../drizzle/rows.ts'
import { Id, Timestamp } from '../../src/core/docs.ts'
import { Body, Query } from '../../src/core/doors.ts'
import { Cursor, Limit } from '../../src/core/pages.ts'
import { Text } from '../../src/core/text.ts'
import { UserView } from '../auth/schema.ts'

export const CommentView = Type.Object({
  id: Id('The comment'),
  text: Type.String({ examples: ['The wheels need oil'] }),
  authorId: Id('The user who wrote it'),
  author: Type.Union([Type.Pick(UserView, ['id', 'name']), Type.Null()], {
    description: 'That user; null once the account is deleted',
  }),
  authorRemoved: Type.Boolean({ description: 'Their account has been deleted', examples: [false] }),
  taskId: Id('The task it belongs to'),
  createdAt: Timestamp('When it was written'),
  updatedAt: Timestamp('When it was last edited'),
})

export const CommentBody = Body({ text: Text(1, 20_000, 'The wheels need oil') }, CommentView)
export const ListCommentsQuery = Query({ limit: Limit(50, 200), cursor: Cursor() })

/** `authorName` is undefined, or null, when the account is gone. */
export const commentView = (
  { id, text, authorId, taskId, createdAt, updatedAt }: CommentRow,
  authorName: string | null | undefined,
) => {
  const author = authorName == null ? null : { id: authorId, name: authorName }
  return { id, text, authorId, author, authorRemoved: !author, taskId, createdAt, updatedAt }
}
