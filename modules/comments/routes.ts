import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { saying, showing } from '../../src/actor/reply.ts'
import { Message, operation } from '../../src/core/docs.ts'
import type { Services } from '../../src/services.ts'
import { openAccounts } from '../accounts/people.ts'
import { openSeenTasks } from '../tasks/queries.ts'
import type { WriteAt } from '../tasks/write-at.ts'
import { addComment, deleteComment, editComment } from './decide.ts'
import { listOfComments } from './list.ts'
import { CommentBody, CommentView, commentView, ListCommentsQuery } from './schema.ts'

const tag = 'Comments'

export function commentRoutes({ database, doors, versions }: Services, writeAt: WriteAt) {
  const list = listOfComments(database.reads, openSeenTasks(database.reads, versions))
  const findAccount = openAccounts(database.reads)

  return new Elysia({ prefix: '/tasks' })
    .use(doors.guarded)
    .post(
      '/:id/comments',
      async ({ params: { id }, body, caller, request }) => {
        const text = body.text.trim()
        const madeAt = (made: string) => `/tasks/comments/${made}`
        const author = await findAccount(caller)
        return writeAt('task', id, { request, caller, body, madeAt }, (state, context) =>
          showing(addComment(state, context, id, text), (row) => commentView(row, author?.name), 201),
        )
      },
      {
        jsonBody: true,
        body: CommentBody,
        ...operation({
          tag,
          summary: 'Comment on a task',
          description: 'The caller is its author. Takes the role EDITOR.',
          answers: { status: 201, schema: CommentView, description: 'Added' },
          refuses: [400, 403, 404, 413, 415, 422],
        }),
      },
    )
    .get('/:id/comments', ({ params: { id }, query, caller, request }) => list(request, caller, id, query), {
      query: ListCommentsQuery,
      ...operation({
        tag,
        summary: "List a task's comments",
        description: 'Oldest first.',
        answers: { status: 200, schema: Type.Array(CommentView), description: 'A page of comments' },
        refuses: [400, 404],
        conditional: true,
        paged: true,
      }),
    })
    .patch(
      '/comments/:id',
      async ({ params: { id }, body, caller, request }) => {
        const text = body.text.trim()
        const author = await findAccount(caller)
        return writeAt('comment', id, { request, caller, body }, (state, context, ref) =>
          showing(editComment(state, context, ref, text), (row) => commentView(row, author?.name)),
        )
      },
      {
        jsonBody: true,
        body: CommentBody,
        ...operation({
          tag,
          summary: 'Edit a comment',
          description: 'Only its author may.',
          answers: { status: 200, schema: CommentView, description: 'The comment as it is now' },
          refuses: [400, 403, 404, 412, 413, 415, 422],
        }),
      },
    )
    .delete(
      '/comments/:id',
      ({ params: { id }, caller, request }) =>
        writeAt('comment', id, { request, caller }, (state, context, ref) =>
          saying(deleteComment(state, context, ref), 'Comment deleted successfully'),
        ),
      operation({
        tag,
        summary: 'Delete a comment',
        description: 'Its author may, and an admin of the project.',
        answers: { status: 200, schema: Message('Comment deleted successfully'), description: 'Deleted' },
        refuses: [400, 403, 404, 412, 422],
      }),
    )
}
