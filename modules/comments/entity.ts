import type { CommentRow } from '../../drizzle/rows.ts'
import { comments } from '../../drizzle/schema/comments.ts'
import {
  type ProjectCaller,
  type Caller,
  requireScope,
  type Role,
  isAtLeast,
} from '../../src/identity/rights.ts'
import { type AuthorizeUndo, byDeleterOrAdmin, childInput, entity } from '../../src/model/definition.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { forbidden } from '../../src/responses/errors.ts'
import { commentCell } from '../exports/cells.ts'
import { commentView, CreateComment, UpdateComment } from './schema.ts'

declare module '../../src/model/entities.ts' {
  interface Entities {
    comment: { row: CommentRow; event: 'created' | 'updated' | 'deleted' }
  }
}

export const notAuthor = () => forbidden('Only the author may edit a comment')
export const notAuthorOrAdmin = () => forbidden('Only the author or an admin may delete a comment')

export function requireAdmin(role: Role | null, caller: Caller): void {
  if (!role || !isAtLeast(role, 'ADMIN')) throw notAuthorOrAdmin()
  requireScope(caller, 'admin')
}

const isAuthor = ({ caller }: ProjectCaller, { before, after }: StoredEvent) =>
  ((after ?? before) as CommentRow).authorId === caller.userId

const byAuthor: AuthorizeUndo = (projectCaller, event) => {
  if (!isAuthor(projectCaller, event)) throw notAuthor()
}
const byAuthorOrAdmin: AuthorizeUndo = (projectCaller, event) =>
  void (isAuthor(projectCaller, event) || requireAdmin(projectCaller.role, projectCaller.caller))
const byAuthorOrRestorer: AuthorizeUndo = (...args) => {
  byDeleterOrAdmin(...args)
  byAuthorOrAdmin(...args)
}

export const comment = entity<'comment'>({
  name: 'comment',
  about: 'Remarks on a task. Only the author may edit a comment.',
  table: comments,
  optionalColumns: ['importedAuthor'],
  parent: 'task',
  load: 'by row',
  view: commentView,
  asChild: {
    text: 'text',
    input: childInput(CreateComment, UpdateComment),
    cell: (shown: Parameters<typeof commentCell>[0] & { authorId: string }, personOf) =>
      commentCell({ ...shown, author: personOf(shown.authorId) ?? shown.author }),
  },
  person: 'authorId',
  events: {
    created: { by: 'deleted', admit: byAuthorOrAdmin },
    updated: { by: 'updated', admit: byAuthor },
    deleted: { by: 'created', admit: byAuthorOrRestorer },
  },
})
