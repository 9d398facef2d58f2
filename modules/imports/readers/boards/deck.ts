import {
  ImportError,
  type ImportedItem,
  type ImportedPerson,
  type LabelItem,
  type TaskItem,
} from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { JsonFile, maxNames } from '../json/json-file.ts'
import {
  assigneesOf,
  attachmentNote,
  InOrder,
  isoTime,
  itemOf,
  missingComments,
  note,
  personOf,
} from '../json/parts.ts'
import type { Reader } from '../reader.ts'
import { colorOf } from './colors.ts'

/** Boards, the stacks of one board, or a list of stacks. */
const parts = { 'boards.*': maxNames, 'stacks.*': maxNames, 'labels.*': maxNames, '*': maxNames }
const cards = ['boards.*.stacks.*.cards.*', 'stacks.*.cards.*', '*.stacks.*.cards.*', '*.cards.*']
const lists = 'arrays or objects'

/** Reads the output of `occ deck:export`, the export of a board, or a response of the API of Nextcloud Deck. */
export const readDeck: Reader = async function* ({ open }) {
  const file = new JsonFile(open)
  const { labels, stacks } = await stacksOf(file)
  if (stacks.size === 0)
    throw new ImportError('The file is not a Deck export of boards with cards: it has no stacks')
  yield* labels
  const inOrder = new InOrder<ImportedItem>()
  const omit = ['contentBase64', 'board', 'acl', 'mentions', 'replyTo']
  for await (const card of file.read(cards, { omit, lists })) {
    const stack = stacks.get(card.path.slice(0, -2).join('.'))
    const task = cardOf(card, stack)
    yield* inOrder.add(task, [...(stack?.order ?? []), card.number('order')], card.characters)
    for (const comment of card.entries('comments'))
      yield itemOf({
        ...{ kind: 'comment', row: comment.row, task: task.key, key: comment.required('id') },
        text: comment.required('message'),
        author: personOf([comment.text('actorDisplayName'), comment.text('actorId')]),
        createdAt: comment.text('creationDateTime'),
      })
  }
  yield* inOrder.take()
}

interface Stack {
  title: string | undefined
  isDone: boolean
  /** The positions of the board and the stack, then the position of the stack in the file. */
  order: (number | undefined)[]
  /** The title of the board, if the file has several boards. */
  board: string | undefined
}

/** Reads the boards and stacks of the file without the cards. Returns the stacks by their paths. */
async function stacksOf(file: JsonFile): Promise<{ labels: LabelItem[]; stacks: Map<string, Stack> }> {
  const index = await file.index(parts, { omit: ['cards', 'acl', 'users', 'permissions', 'settings'], lists })
  const others = index['*']
  const boards = [...index['boards.*'], ...others.filter((entry) => entry.has('stacks'))]
  const single = [...index['stacks.*'], ...others.filter((entry) => entry.has('boardId'))]
  const stacks = new Map<string, Stack>()
  const add = (stack: Entry, board: number, at: number, title?: string) =>
    stacks.set(stack.path.join('.'), {
      ...{ title: stack.text('title'), isDone: stack.isTrue('isDoneColumn'), board: title },
      order: [board, stack.number('order'), at],
    })
  for (const [n, board] of boards.entries())
    for (const [at, stack] of board.children('stacks').entries())
      add(stack, n, at, boards.length > 1 ? board.text('title') : undefined)
  for (const [at, stack] of single.entries()) add(stack, 0, at)
  const labels = [...boards.flatMap((board) => board.entries('labels')), ...index['labels.*']]
  return {
    labels: labels.map((label, n) => {
      const color = colorOf(label.text('color'))
      return itemOf({ kind: 'label', row: n + 1, name: label.text('title') ?? 'label', color })
    }),
    stacks,
  }
}

function cardOf(card: Entry, stack: Stack | undefined): TaskItem {
  const people = card.entries('assignedUsers').flatMap((one) => userOf(one, 'participant') ?? [])
  const { assignee, others } = assigneesOf(people)
  const done = card.text('done')
  const createdAt = card.number('createdAt')
  const names = card.entries('labels').map((label) => label.text('title') ?? 'label')
  return itemOf<TaskItem>({
    ...{ kind: 'task', row: card.row, key: card.required('id'), title: card.required('title') },
    ...{ description: card.text('description'), list: stack?.title },
    status: done || stack?.isDone ? 'DONE' : undefined,
    dueDate: card.text('duedate'),
    createdAt: createdAt ? isoTime(createdAt * 1000) : undefined,
    ...{ author: userOf(card, 'owner'), assignee },
    labels: stack?.board ? [...names, stack.board] : names,
    messages: missingComments(card.number('commentsCount') ?? 0, card.entries('comments').length),
    notes: [
      ...(card.isTrue('archived') ? ['Archived'] : []),
      ...((card.number('deletedAt') ?? 0) > 0 ? ['Deleted'] : []),
      ...note('Start', card.text('startdate')),
      ...note('Completed', done),
      ...others,
      ...card
        .entries('attachments')
        .flatMap((one) => attachmentNote(one.text('data'), one.entry('extendedData')?.text('path'))),
    ],
  })
}

/** A person is an object, or in old exports the id of the user. */
function userOf(entry: Entry, key: string): ImportedPerson | undefined {
  if (typeof entry.value[key] === 'string') return { name: entry.required(key) }
  const user = entry.entry(key)
  return personOf([user?.text('displayname'), user?.text('uid')])
}
