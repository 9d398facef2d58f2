import { appeared, removed, updated } from '../../src/facts/facts.ts'
import { requireMatch } from '../../src/actor/precondition.ts'
import { command, ofComment, ofTask } from '../../src/commands/command.ts'
import { idFor } from '../../src/commands/decide.ts'
import type { Whom } from '../../src/commands/people.ts'
import type { Caller } from '../../src/identity/caller.ts'
import { type Role, suffices } from '../../src/identity/roles.ts'
import { requireScope } from '../../src/identity/scopes.ts'
import { forbidden, idTaken } from '../../src/wire/refusals.ts'
import { CommentId, commentView, CreateComment, UpdateComment } from './schema.ts'

declare module '../../src/facts/facts.ts' {
  interface Facts {
    'comment.created': true
    'comment.updated': true
    'comment.deleted': true
  }
}

export const notAuthor = () => forbidden('Only its author may edit a comment')
const neitherAuthorNorAdmin = () => forbidden('Only its author or an admin may delete a comment')

/** Who writes or edits a comment is its author. */
const author = (_: object, { userId }: Caller): Whom => ({ by: 'id', key: userId })

export const createComment = command('comment.create', {
  about: 'The caller is its author.',
  input: CreateComment,
  at: ofTask('taskId'),
  least: 'EDITOR',
  whom: author,
  takesOwnId: true,
  decide(state, known, { id: own, taskId, text }) {
    const { caller, now } = known
    const by = { authorId: caller.userId, createdAt: now, updatedAt: now }
    const id = idFor(state, known, own)
    const fields = { id, taskId, ...by, text: text.trim() }
    const change = appeared(state, known, 'comment.created', fields)
    return { changes: [change], answer: change.after }
  },
  shows: commentView,
  status: 201,
  refuses: [idTaken()],
  madeAt: (id) => `/tasks/comments/${id}`,
})

export const updateComment = command('comment.update', {
  about: 'Only its author may.',
  input: UpdateComment,
  at: ofComment,
  least: 'VIEWER',
  whom: author,
  decide(state, known, { id, text }) {
    const comment = state.present('comment', id)
    if (comment.authorId !== known.caller.userId) throw notAuthor()
    requireMatch(known, comment)
    if (comment.text === text.trim()) return { changes: [], answer: comment }
    const fields = { text: text.trim(), updatedAt: known.now }
    const change = updated(state, known, 'comment.updated', comment, fields)
    return { changes: [change], answer: change.after }
  },
  shows: commentView,
  refuses: [notAuthor()],
})

/** For somebody else's comment. @throws Refusal 403 */
export function requireAdmin(role: Role | null, caller: Caller): void {
  if (!role || !suffices(role, 'ADMIN')) throw neitherAuthorNorAdmin()
  requireScope(caller, 'admin')
}

export const deleteComment = command('comment.delete', {
  about: 'Its author may, and an admin of the project (with the scope admin, of an API token).',
  input: CommentId,
  at: ofComment,
  least: 'VIEWER',
  decide(state, known, { id }) {
    const comment = state.present('comment', id)
    const { userId } = known.caller
    if (comment.authorId !== userId) requireAdmin(state.roleOf(userId), known.caller)
    requireMatch(known, comment)
    return { changes: [removed(state, known, 'comment.deleted', comment)], answer: undefined }
  },
  says: 'Comment deleted successfully',
  refuses: [neitherAuthorNorAdmin()],
})

export const commentCommands = [createComment, updateComment, deleteComment]
