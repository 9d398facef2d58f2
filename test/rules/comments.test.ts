import { test } from 'bun:test'
import { deleteComment, updateComment } from '../../modules/comments/commands.ts'
import { busy, comment, editor, eventOf, invited, memberOf } from './events.ts'
import { ruleOf, when, now } from './given.ts'

const { id } = comment
const edit = ruleOf(updateComment, { id, text: 'Grease it' })
const left = eventOf('member.removed', 'member', memberOf(editor, 'EDITOR'), null)

test('an author who left may neither edit nor delete the comment, and may edit it after a new invitation', () => {
  for (const rule of [edit, ruleOf(deleteComment, { id })])
    when(editor, rule, [...busy, left]).thenRejected(404, 'Comment not found')
  const after = { ...comment, text: 'Grease it', updatedAt: now, eventId: 'new-1' }
  when(editor, edit, [...busy, left, invited(editor, 'VIEWER')]).then(
    eventOf('comment.updated', 'comment', comment, after),
  )
})
