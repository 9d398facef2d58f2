import type { CommentItem, ImportedPerson, TaskItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { missingComments } from '../json/comment-counts.ts'
import { isoTime, itemOf } from '../json/items.ts'
import { assigneesOf, attachmentNote, note } from '../json/notes.ts'
import type { Stack } from './stacks.ts'

export function cardOf(card: Entry, stack: Stack | undefined): TaskItem {
  const people = card.entries('assignedUsers').flatMap((one) => personOf(one, 'participant') ?? [])
  const { assignee, others } = assigneesOf(people)
  const done = card.text('done')
  const createdAt = card.number('createdAt')
  const names = card.entries('labels').map((label) => label.text('title') ?? 'label')
  return itemOf<TaskItem>({
    ...{ kind: 'task', row: card.row, key: card.required('id'), title: card.required('title') },
    description: card.text('description'),
    list: stack?.title,
    status: done || stack?.isDone ? 'DONE' : undefined,
    dueDate: card.text('duedate'),
    createdAt: createdAt ? isoTime(createdAt * 1000) : undefined,
    author: personOf(card, 'owner'),
    assignee,
    labels: stack?.board ? [...names, stack.board] : names,
    messages: missingComments(card.number('commentsCount') ?? 0, card.entries('comments').length),
    notes: [
      ...(card.isTrue('archived') ? ['Archived'] : []),
      ...((card.number('deletedAt') ?? 0) > 0 ? ['Deleted'] : []),
      ...note('Start', card.text('startdate')),
      ...note('Completed', done),
      ...others,
      ...card.entries('attachments').flatMap(attachmentOf),
    ],
  })
}

/** A person is an object, or in old exports the id of the user. */
function personOf(entry: Entry, key: string): ImportedPerson | undefined {
  if (typeof entry.value[key] === 'string') return { name: entry.required(key) }
  const user = entry.entry(key)
  const name = user?.text('displayname') ?? user?.text('uid')
  return name === undefined ? undefined : { name }
}

const attachmentOf = (attachment: Entry): string[] =>
  attachmentNote(attachment.text('data'), attachment.entry('extendedData')?.text('path'))

export function commentOf(comment: Entry, task: string): CommentItem {
  const name = comment.text('actorDisplayName') ?? comment.text('actorId')
  return itemOf({
    ...{
      kind: 'comment',
      row: comment.row,
      task,
      key: comment.required('id'),
      text: comment.required('message'),
    },
    author: name === undefined ? undefined : { name },
    createdAt: comment.text('creationDateTime'),
  })
}
