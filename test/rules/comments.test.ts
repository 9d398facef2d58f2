import { describe, test } from 'bun:test'
import { createComment, deleteComment, updateComment } from '../../modules/comments/commands.ts'
import {
  admin,
  busy,
  comment,
  editor,
  eventOf,
  invited,
  memberOf,
  owner,
  stranger,
  task,
  viewer,
} from './given-events.ts'
import { ruleOf, when, now, type Rule, testRejections } from './given.ts'
import { rejectedOnceDeleted, rejectedWithoutTask } from './missing-rows.ts'

const { id } = comment
const add = (taskId: string) => ruleOf(createComment, { taskId, text: 'Well' })
const edit = (text: string) => ruleOf(updateComment, { id, text })
const remove = ruleOf(deleteComment, { id })
const gone = eventOf('comment.deleted', 'comment', comment, null)
const each: Record<string, Rule> = { edit: edit('X'), remove }
const demoted = eventOf('member.role_set', 'member', memberOf(editor, 'EDITOR'), memberOf(editor, 'VIEWER'))
const left = eventOf('member.removed', 'member', memberOf(editor, 'EDITOR'), null)

describe('commenting', () => {
  test('makes the caller the author', () => {
    const fields = { id: 'new-1', taskId: task.id, authorId: owner, text: 'Well' }
    const after = { ...fields, createdAt: now, updatedAt: now, eventId: 'new-2' }
    when(owner, add(task.id))
      .then(eventOf('comment.created', 'comment', null, after))
      .answering(after)
  })

  test('is rejected with 404 for a missing or deleted task', () => rejectedWithoutTask(add))
})

describe('editing a comment', () => {
  const after = { ...comment, text: 'Grease it', updatedAt: now, eventId: 'new-1' }
  const edited = eventOf('comment.updated', 'comment', comment, after)

  test('sets the text and updatedAt', () => {
    when(editor, edit('Grease it')).then(edited).answering(after)
  })

  test('is allowed for the author with any role', () => {
    when(editor, edit('Grease it'), [...busy, demoted]).then(edited)
  })

  test('commits no event if the text is the same', () => {
    when(editor, edit(comment.text)).thenNoEvents(comment)
  })

  test('is rejected with 403 for other members and the owner', () => {
    for (const other of [viewer, admin, owner]) {
      when(other, edit('X')).thenRejected(403, 'Only the author may edit a comment')
    }
  })

  test('is rejected with 404 for an author who left, and allowed again after a new invitation', () => {
    when(editor, edit('X'), [...busy, left]).thenRejected(404, 'Comment not found')
    when(editor, edit('Grease it'), [...busy, left, invited(editor, 'VIEWER')]).then(edited)
  })
})

describe('deleting a comment', () => {
  test('is allowed for the author with any role', () => {
    when(editor, remove).then(gone).answering(undefined)
    when(editor, remove, [...busy, demoted]).then(gone)
  })

  test('is allowed for an ADMIN and the owner', () => {
    for (const other of [admin, owner]) when(other, remove).then(gone)
  })

  test('is rejected with 403 for other members', () => {
    const second = invited('emil', 'EDITOR')
    for (const other of [viewer, 'emil']) {
      when(other, remove, [...busy, second]).thenRejected(
        403,
        'Only the author or an admin may delete a comment',
      )
    }
  })

  testRejections(busy, {
    'with 404 for an author who left': [editor, remove, '404 Comment not found', [...busy, left]],
  })
})

describe('every change of a comment', () => {
  for (const [name, rule] of Object.entries(each)) {
    test(`${name} is rejected with 404 if the comment, its task or its project is deleted`, () =>
      rejectedOnceDeleted(rule, gone, 'Comment not found'))

    testRejections(busy, {
      [`with 404 for the comment if the caller is not a member: ${name}`]: [
        stranger,
        rule,
        '404 Comment not found',
      ],
    })
  }
})
