import { Elysia } from 'elysia'
import type { Query } from '../../src/commands/query.ts'
import type { Http } from '../../src/http/http.ts'
import { createComment, deleteComment, updateComment } from './commands.ts'

export const commentRoutes = ({ guarded, run, ask }: Http, list: Query) =>
  new Elysia({ prefix: '/tasks' })
    .use(guarded)
    .post(...run('/:id/comments', createComment, 'Comment on a task'))
    .get(...ask('/:id/comments', list, "List a task's comments"))
    .patch(...run('/comments/:id', updateComment, 'Edit a comment'))
    .delete(...run('/comments/:id', deleteComment, 'Delete a comment'))
