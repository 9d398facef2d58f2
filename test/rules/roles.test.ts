import { requireRole, type Role, isAtLeast } from '../../src/identity/rights.ts'
import { callers, everyCommand, events } from './every-command.ts'
import { projectDeleted, busy, comment, editor, eventOf, invited, memberOf } from './events.ts'
import { contextOf, folded, errorOf, ruleOf, when, now } from './given.ts'
import { deleteComment, updateComment } from '../../modules/comments/commands.ts'

for (const { name, rule } of everyCommand)
  test(`no caller may ${name} in a deleted project`, () => {
    const state = folded([...events, projectDeleted])
    const statuses = callers.map((caller) => errorOf(() => rule(state, contextOf(caller)))?.status)
    expect(statuses).toEqual([404, 404, 404, 404, 404])
  })

test('each role includes the rights of all lower roles', () => {
  const ascending: Role[] = ['VIEWER', 'EDITOR', 'ADMIN', 'OWNER']
  const matrix = ascending.map((has) => ascending.map((role) => isAtLeast(has, role)))
  expect(matrix).toEqual(ascending.map((_, has) => ascending.map((_, role) => has >= role)))
})

test('a caller without a role gets 404, and a caller with a lower role gets 403 that names the required role', () => {
  for (const outside of [null, undefined]) {
    const refusal = errorOf(() => requireRole(outside, 'VIEWER', 'Plan'))
    expect(refusal).toEqual({ status: 404, message: 'Plan not found' })
  }
  const refusal = errorOf(() => requireRole('ADMIN', 'OWNER', 'Plan'))
  expect(refusal).toEqual({ status: 403, message: 'This needs the role OWNER in the project' })
})

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
