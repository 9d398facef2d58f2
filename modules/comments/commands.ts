import { appeared, removed, updated } from '../../src/model/events.ts'
import { requireMatch } from '../../src/actor/precondition.ts'
import { atRow, command, ofTask } from '../../src/commands/command.ts'
import { idFor } from '../../src/commands/decide.ts'
import type { Whom } from '../../src/reads/people.ts'
import type { Caller } from '../../src/identity/caller.ts'
import { idTaken } from '../../src/wire/refusals.ts'
import { neitherAuthorNorAdmin, notAuthor, requireAdmin } from './entity.ts'
import { CommentId, commentView, CreateComment, UpdateComment } from './schema.ts'

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
  at: atRow('comment'),
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

export const deleteComment = command('comment.delete', {
  about: 'Its author may, and an admin of the project (with the scope admin, of an API token).',
  input: CommentId,
  at: atRow('comment'),
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
