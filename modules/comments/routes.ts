import type { Module } from '../../src/module.ts'
import { childList } from '../../src/routes/child-list.ts'
import { createComment, deleteComment, updateComment } from './commands.ts'
import { comment } from './entity.ts'

export const comments = {
  entity: comment,
  writes: [
    ['post', '/tasks/:id/comments', createComment, 'Comment on a task'],
    ['patch', '/tasks/comments/:id', updateComment, 'Edit a comment'],
    ['delete', '/tasks/comments/:id', deleteComment, 'Delete a comment'],
  ],
  reads: (services, seeTask) => [
    ['/tasks/:id/comments', childList(services, comment, seeTask), "List a task's comments"],
  ],
} satisfies Module
