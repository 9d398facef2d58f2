import { ofTask } from '../../src/commands/command.ts'
import { creation, deletion, update } from '../../src/commands/row-commands.ts'
import type { Caller } from '../../src/identity/rights.ts'
import type { Whom } from '../../src/reads/people.ts'
import { comment, neitherAuthorNorAdmin, notAuthor, requireAdmin } from './entity.ts'
import { CreateComment, UpdateComment } from './schema.ts'

const author = (_: object, { userId }: Caller): Whom => ({ by: 'id', key: userId })

export const createComment = creation(comment, {
  about: 'The caller is its author.',
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
  about: 'Only its author may.',
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
  about: 'Its author may, and an admin of the project (with the scope admin, of an API token).',
  role: 'VIEWER',
  check({ authorId }, { caller }, state) {
    if (authorId !== caller.userId) requireAdmin(state.roleOf(caller.userId), caller)
  },
  errors: [neitherAuthorNorAdmin()],
})
