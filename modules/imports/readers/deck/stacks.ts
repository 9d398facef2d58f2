import type { LabelItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { itemOf } from '../json/items.ts'
import type { JsonFile } from '../json/json-file.ts'
import { maxNames } from '../json/limits.ts'
import { colorOf } from '../json/colors.ts'

export interface Stack {
  title: string | undefined
  isDone: boolean
  /** The positions of the board and the stack, then the position of the stack in the file. */
  order: (number | undefined)[]
  /** The title of the board, if the file has several boards. */
  board?: string
}

export interface Stacks {
  labels: LabelItem[]
  /** Returns the stack that contains the card. */
  of(card: Entry): Stack | undefined
}

/** Boards, the stacks of one board, or a list of stacks. */
const parts = { 'boards.*': maxNames, 'stacks.*': maxNames, 'labels.*': maxNames, '*': maxNames }

/** Reads the boards and stacks of the file without the cards. */
export async function stacksOf(file: JsonFile): Promise<Stacks | undefined> {
  const index = await file.index(parts, {
    omit: ['cards', 'acl', 'users', 'permissions', 'settings'],
    lists: 'arrays or objects',
  })
  const others = index['*']
  const boards = [...index['boards.*'], ...others.filter((entry) => entry.has('stacks'))]
  const single = [...index['stacks.*'], ...others.filter((entry) => entry.has('boardId'))]
  if (boards.length === 0 && single.length === 0) return undefined
  const stacks = new Map<string, Stack>()
  for (const [n, board] of boards.entries())
    for (const [at, stack] of board.children('stacks').entries()) {
      const title = boards.length > 1 ? { board: board.text('title') } : {}
      stacks.set(stack.path.join('.'), { ...stackOf(stack, n, at), ...title })
    }
  for (const [at, stack] of single.entries()) stacks.set(stack.path.join('.'), stackOf(stack, 0, at))
  const labels = [...boards.flatMap((board) => board.entries('labels')), ...index['labels.*']]
  return {
    labels: labels.map((label, n) => labelOf(label, n + 1)),
    of: (card) => stacks.get(card.path.slice(0, -2).join('.')),
  }
}

const stackOf = (stack: Entry, board: number, at: number): Stack => ({
  title: stack.text('title'),
  isDone: stack.isTrue('isDoneColumn'),
  order: [board, stack.number('order'), at],
})

const labelOf = (label: Entry, row: number): LabelItem =>
  itemOf({ kind: 'label', row, name: label.text('title') ?? 'label', color: colorOf(label.text('color')) })
