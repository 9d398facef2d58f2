import { describe, test } from 'bun:test'
import { createComment, deleteComment, updateComment } from '../../modules/comments/commands.ts'
import {
  admin,
  busy,
  comment,
  editor,
  fact,
  invited,
  memberOf,
  owner,
  stranger,
  task,
  viewer,
} from './facts.ts'
import { asking, when, now, type Rule, testRefusals } from './given.ts'
import { refusedOnceGone, refusedWithoutTask } from './hanging.ts'

const { id } = comment
const add = (taskId: string) => asking(createComment, { taskId, text: 'Well' })
const edit = (text: string) => asking(updateComment, { id, text })
const remove = asking(deleteComment, { id })
const gone = fact('comment.deleted', 'comment', comment, null)
const each: Record<string, Rule> = { edit: edit('X'), remove }
const demoted = fact('member.role_set', 'member', memberOf(editor, 'EDITOR'), memberOf(editor, 'VIEWER'))
const left = fact('member.removed', 'member', memberOf(editor, 'EDITOR'), null)

describe('commenting', () => {
  test('makes the caller the author', () => {
    const fields = { id: 'new-1', taskId: task.id, authorId: owner, text: 'Well' }
    const after = { ...fields, createdAt: now, updatedAt: now, eventId: 'new-2' }
    when(owner, add(task.id))
      .then(fact('comment.created', 'comment', null, after))
      .answering(after)
  })

  test('is rejected with 404 for a missing or deleted task', () => refusedWithoutTask(add))
})

describe('editing a comment', () => {
  const after = { ...comment, text: 'Grease it', updatedAt: now, eventId: 'new-1' }
  const edited = fact('comment.updated', 'comment', comment, after)

  test('sets the text and updatedAt', () => {
    when(editor, edit('Grease it')).then(edited).answering(after)
  })

  test('is allowed for the author with any role', () => {
    when(editor, edit('Grease it'), [...busy, demoted]).then(edited)
  })

  test('commits no event if the text is the same', () => {
    when(editor, edit(comment.text)).thenNothing(comment)
  })

  test('is rejected with 403 for other members and the owner', () => {
    for (const other of [viewer, admin, owner]) {
      when(other, edit('X')).thenRefused(403, 'Only its author may edit a comment')
    }
  })

  test('is rejected with 404 for an author who left, and allowed again after a new invitation', () => {
    when(editor, edit('X'), [...busy, left]).thenRefused(404, 'Comment not found')
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
      when(other, remove, [...busy, second]).thenRefused(
        403,
        'Only its author or an admin may delete a comment',
      )
    }
  })

  testRefusals(busy, {
    'with 404 for an author who left': [editor, remove, '404 Comment not found', [...busy, left]],
  })
})

describe('every change of a comment', () => {
  for (const [name, rule] of Object.entries(each)) {
    test(`${name} is rejected with 404 if the comment, its task or its project is deleted`, () =>
      refusedOnceGone(rule, gone, 'Comment not found'))

    testRefusals(busy, {
      [`with 404 for the comment if the caller is not a member: ${name}`]: [
        stranger,
        rule,
        '404 Comment not found',
      ],
    })
  }
})
