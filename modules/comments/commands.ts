import { ofTask } from '../../src/commands/command.ts'
import { creation, deletion, update } from '../../src/commands/row-commands.ts'
import type { Caller } from '../../src/identity/rights.ts'
import type { AccountKey } from '../../src/reads/people.ts'
import { comment, notAuthorOrAdmin, notAuthor, requireAdmin } from './entity.ts'
import { CreateComment, UpdateComment } from './schema.ts'

const author = (_: object, { userId }: Caller): AccountKey => ({ by: 'id', key: userId })

export const createComment = creation(comment, {
  about: 'The caller becomes the author.',
  input: CreateComment,
  target: ofTask('taskId'),
  role: 'EDITOR',
  person: author,
  path: '/tasks/comments',
  fields: ({ taskId, text }, { caller, now }) => {
    return { taskId, authorId: caller.userId, createdAt: now, updatedAt: now, text: text.trim() }
  },
})

export const updateComment = update(comment, {
  about: 'Only the author may edit a comment.',
  input: UpdateComment,
  role: 'VIEWER',
  person: author,
  fields({ text }, { caller }, { authorId }) {
    if (authorId !== caller.userId) throw notAuthor()
    return { text: text.trim() }
  },
  errors: [notAuthor()],
})

export const deleteComment = deletion(comment, {
  about:
    'The author and admins of the project may delete a comment. With an API token, an admin needs the scope admin.',
  role: 'VIEWER',
  check({ authorId }, { caller }, state) {
    if (authorId !== caller.userId) requireAdmin(state.roleOf(caller.userId), caller)
  },
  errors: [notAuthorOrAdmin()],
})
