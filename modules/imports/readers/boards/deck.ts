import {
  type CommentItem,
  ImportError,
  type ImportedItem,
  type ImportedPerson,
  type TaskItem,
} from '../../items.ts'
import type { Reader } from '../reader.ts'
import type { Entry } from '../json/entry.ts'
import { InOrder } from '../json/in-order.ts'
import { assigneesOf, attachmentNote, isoTime, itemOf, note } from '../json/items.ts'
import { JsonFile } from '../json/json-file.ts'
import { type Stack, stacksOf } from './deck-stacks.ts'

const cards = ['boards.*.stacks.*.cards.*', 'stacks.*.cards.*', '*.stacks.*.cards.*', '*.cards.*']

/** Reads what `occ deck:export`, the export of a board, or the API of Nextcloud Deck returns. */
export const readDeck: Reader = async function* ({ open }) {
  const file = new JsonFile(open)
  const stacks = await stacksOf(file)
  if (!stacks) throw new ImportError('The file is not a Deck export: it has no boards and no stacks')
  yield* stacks.labels
  const inOrder = new InOrder<ImportedItem>()
  let row = 0
  for await (const card of file.read(cards, {
    omit: ['contentBase64', 'board', 'acl', 'mentions', 'replyTo'],
  })) {
    row += 1
    const stack = stacks.of(card)
    const task = cardOf(card, row, stack)
    yield* inOrder.add(task, [...(stack?.order ?? []), card.number('order')], card.characters)
    for (const comment of card.entries('comments')) yield commentOf(comment, row, task.key!)
  }
  yield* inOrder.take()
}

function cardOf(card: Entry, row: number, stack: Stack | undefined): TaskItem {
  const people = card.entries('assignedUsers').flatMap((one) => personOf(one, 'participant') ?? [])
  const { assignee, others } = assigneesOf(people)
  const done = card.text('done')
  const createdAt = card.number('createdAt')
  const names = card.entries('labels').map((label) => label.text('title') ?? 'label')
  return itemOf<TaskItem>({
    ...{ kind: 'task', row, key: card.required('id'), title: card.required('title') },
    description: card.text('description'),
    list: stack?.title,
    status: done || stack?.isDone ? 'DONE' : undefined,
    dueDate: card.text('duedate'),
    createdAt: createdAt ? isoTime(createdAt * 1000) : undefined,
    author: personOf(card, 'owner'),
    assignee,
    labels: stack?.board ? [...names, stack.board] : names,
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

function commentOf(comment: Entry, row: number, task: string): CommentItem {
  const name = comment.text('actorDisplayName') ?? comment.text('actorId')
  return itemOf({
    ...{ kind: 'comment', row, task, key: comment.required('id'), text: comment.required('message') },
    author: name === undefined ? undefined : { name },
    createdAt: comment.text('creationDateTime'),
  })
}
