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
import { asking, given, now, type Rule } from './given.ts'
import { refusedOnceGone, refusedWithoutTask } from './hanging.ts'

const { id } = comment
const add = (taskId: string) => asking(createComment, { taskId, text: 'Well' })
const edit = (text: string) => asking(updateComment, { id, text })
const remove = asking(deleteComment, { id })
const gone = fact('comment.deleted', 'comment', comment, null)
const each: Record<string, Rule> = { edit: edit('X'), remove }
/** The author may only read now. */
const demoted = fact('member.role_set', 'member', memberOf(editor, 'EDITOR'), memberOf(editor, 'VIEWER'))
const left = fact('member.removed', 'member', memberOf(editor, 'EDITOR'), null)

describe('commenting', () => {
  test('makes the caller the author', () => {
    const fields = { id: 'new-1', taskId: task.id, authorId: owner, text: 'Well' }
    const after = { ...fields, createdAt: now, updatedAt: now, eventId: 'new-2' }
    given(busy)
      .when(owner, add(task.id))
      .then(fact('comment.created', 'comment', null, after))
      .answering(after)
  })

  test('is refused on a task that is not here', () => refusedWithoutTask(add))
})

describe('editing a comment', () => {
  const after = { ...comment, text: 'Grease it', updatedAt: now, eventId: 'new-1' }
  const edited = fact('comment.updated', 'comment', comment, after)

  test('puts in other words, and says when', () => {
    given(busy).when(editor, edit('Grease it')).then(edited).answering(after)
  })

  test('is open to its author with whatever role', () => {
    given([...busy, demoted])
      .when(editor, edit('Grease it'))
      .then(edited)
  })

  test('is nothing with the same words', () => {
    given(busy).when(editor, edit(comment.text)).thenNothing(comment)
  })

  test('is refused to everybody else, the owner too', () => {
    for (const other of [viewer, admin, owner]) {
      given(busy).when(other, edit('X')).thenRefused(403, 'Only its author may edit a comment')
    }
  })

  test('is refused to an author who has left, and open again to one who is back', () => {
    given([...busy, left])
      .when(editor, edit('X'))
      .thenRefused(404, 'Comment not found')
    given([...busy, left, invited(editor, 'VIEWER')])
      .when(editor, edit('Grease it'))
      .then(edited)
  })
})

describe('deleting a comment', () => {
  test('is open to its author with whatever role', () => {
    given(busy).when(editor, remove).then(gone).answering(undefined)
    given([...busy, demoted])
      .when(editor, remove)
      .then(gone)
  })

  test('is open to who administers the project', () => {
    for (const other of [admin, owner]) given(busy).when(other, remove).then(gone)
  })

  test('is refused to other members', () => {
    const second = invited('emil', 'EDITOR')
    for (const other of [viewer, 'emil']) {
      given([...busy, second])
        .when(other, remove)
        .thenRefused(403, 'Only its author or an admin may delete a comment')
    }
  })

  test('is refused to an author who has left', () => {
    given([...busy, left])
      .when(editor, remove)
      .thenRefused(404, 'Comment not found')
  })
})

describe('every change of a comment', () => {
  for (const [name, rule] of Object.entries(each)) {
    test(`is refused when the comment, its task or its project is gone: ${name}`, () =>
      refusedOnceGone(rule, gone, 'Comment not found'))

    test(`speaks to a stranger of the comment alone: ${name}`, () => {
      given(busy).when(stranger, rule).thenRefused(404, 'Comment not found')
    })
  }
})
