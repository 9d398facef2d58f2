import type { CommentRow } from '../../drizzle/rows.ts'
import { appeared, type Context, type Decision, removed, updated } from '../../src/actor/events.ts'
import { requireMatch } from '../../src/actor/precondition.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { suffices } from '../../src/core/access.ts'
import { forbidden, notFound } from '../../src/core/errors.ts'
import { taskFor } from '../tasks/decide.ts'

/** Names a comment and the task it hangs on. */
export interface CommentRef {
  id: string
  taskId: string
}

function commentFor(state: ProjectState, context: Context, { id, taskId }: CommentRef): CommentRow {
  taskFor(state, context, taskId, 'VIEWER', 'Comment')
  const comment = state.row('comment', id)
  if (!comment) throw notFound('Comment')
  return comment
}

export function addComment(
  state: ProjectState,
  context: Context,
  taskId: string,
  text: string,
): Decision<CommentRow> {
  taskFor(state, context, taskId, 'EDITOR')
  const [createdAt, updatedAt] = [context.now, context.now]
  const fields = { id: context.newId(), taskId, authorId: context.caller, text, createdAt, updatedAt }
  const change = appeared(state, context, 'comment.added', 'comment', fields)
  return { changes: [change], answer: change.after }
}

/** Only its author may put other words into a comment. */
export function editComment(
  state: ProjectState,
  context: Context,
  ref: CommentRef,
  text: string,
): Decision<CommentRow> {
  const comment = commentFor(state, context, ref)
  if (comment.authorId !== context.caller) throw forbidden('Only its author may edit a comment')
  requireMatch(context, comment)
  if (comment.text === text) return { changes: [], answer: comment }
  const fields = { text, updatedAt: context.now }
  const change = updated(state, context, 'comment.edited', 'comment', comment, fields)
  return { changes: [change], answer: change.after }
}

/** Its author may, and who administers the project. */
export function deleteComment(state: ProjectState, context: Context, ref: CommentRef): Decision<void> {
  const comment = commentFor(state, context, ref)
  const standing = state.standing(context.caller)
  const may = comment.authorId === context.caller || (standing && suffices(standing, 'ADMIN'))
  if (!may) throw forbidden('Only its author or an admin may delete a comment')
  requireMatch(context, comment)
  return { changes: [removed(state, context, 'comment.deleted', 'comment', comment)], answer: undefined }
}
