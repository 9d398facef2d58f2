import { Type } from '@sinclair/typebox'
import type { CommentRow } from '../../drizzle/rows.ts'
import { ifSet, view } from '../../src/model/view.ts'
import { IdOf, Input, OwnId, Text } from '../../src/schema/input.ts'
import { Id, OrNull, Timestamp, named } from '../../src/schema/response.ts'
import { userView } from '../accounts/user.ts'

const CommentText = Text(1, 20_000, 'The wheels need oil')
export const CreateComment = Input({ id: OwnId(), taskId: IdOf('task'), text: CommentText })
export const UpdateComment = Input({ id: IdOf('comment'), text: CommentText })

export const commentView = view<CommentRow>({
  name: 'Comment',
  schema: Type.Object({
    id: Id('The comment'),
    text: Type.String({ description: 'The text of the comment', examples: ['The wheels need oil'] }),
    authorId: Id('The user who wrote the comment'),
    author: Type.Union([named('Author', Type.Pick(userView.schema, ['id', 'name'])), Type.Null()], {
      description: 'The author; null after the deletion of a user, not of a service account',
    }),
    authorRemoved: Type.Boolean({ description: 'Whether `author` is null', examples: [false] }),
    taskId: Id('The task that has the comment'),
    createdAt: Timestamp('When the comment was created'),
    updatedAt: Timestamp('When the comment was last edited'),
    importedAuthor: OrNull(
      Type.String(),
      'The name of the author in the system that the comment was imported from, or null',
      'Grace Hopper',
    ),
  }),
  computed: {
    author: ({ authorId }, person) => (person ? { id: authorId, name: person.name } : null),
    authorRemoved: (_, person) => !person,
    importedAuthor: ifSet('importedAuthor', null),
  },
})
