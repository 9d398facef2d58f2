import { ImportError, type ImportedItem } from '../../items.ts'
import type { Reader } from '../reader.ts'
import { InOrder } from '../json/in-order.ts'
import { JsonFile } from '../json/json-file.ts'
import { cardOf, commentOf } from './card.ts'
import { stacksOf } from './stacks.ts'

const cards = ['boards.*.stacks.*.cards.*', 'stacks.*.cards.*', '*.stacks.*.cards.*', '*.cards.*']

/** Reads the output of `occ deck:export`, the export of a board, or a response of the API of Nextcloud Deck. */
export const readDeck: Reader = async function* ({ open }) {
  const file = new JsonFile(open)
  const stacks = await stacksOf(file)
  if (!stacks) throw new ImportError('The file is not a Deck export: it has no boards and no stacks')
  yield* stacks.labels
  const inOrder = new InOrder<ImportedItem>()
  for await (const card of file.read(cards, {
    omit: ['contentBase64', 'board', 'acl', 'mentions', 'replyTo'],
    lists: 'arrays or objects',
  })) {
    const stack = stacks.of(card)
    const task = cardOf(card, stack)
    yield* inOrder.add(task, [...(stack?.order ?? []), card.number('order')], card.characters)
    for (const comment of card.entries('comments')) yield commentOf(comment, task.key)
  }
  yield* inOrder.take()
}
