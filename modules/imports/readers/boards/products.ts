import { type Entry, isObject } from '../json/entry.ts'
import { nameOf } from './board.ts'
import { boardReader } from './board-reader.ts'
import { isoTime } from './cards.ts'
import { plankaColors, trelloColors, wekanColors } from './colors.ts'

/** Reads the JSON export of a Trello board. Trello writes only the newest 1,000 actions, of which some are comments. */
export const readTrello = boardReader({
  missing: 'The file is not the JSON export of a Trello board: it has no lists',
  omit: 'limits attachmentsByType cover descData pluginData previews prefs display nonPublic old perms'.split(
    ' ',
  ),
  ...{ omitInLists: ['checkItems'], description: 'desc', colors: trelloColors, position: 'pos' },
  lists: {
    ...{ 'lists.*': 'lists', 'labels.*': 'labels', 'members.*': 'people' },
    ...{ 'customFields.*': 'fields', 'checklists.*': 'checklists' },
  },
  rows: { cards: ['cards.*'], items: ['checklists.*.checkItems.*'], comments: ['actions.*'] },
  card: (card) => ({ remindAt: remindAt(card) }),
})

/** Trello stores a reminder as minutes before the due time. -1: no reminder. */
function remindAt(card: Entry): string | undefined {
  const minutes = card.number('dueReminder') ?? -1
  if (minutes < 0 || card.isSet('dueComplete') || card.isSet('closed')) return undefined
  return isoTime(Date.parse(card.text('due') ?? '') - minutes * 60_000)
}

export const readWekan = boardReader({
  missing: 'The file is not the JSON export of a WeKan board: it has no lists',
  omit: ['file', 'avatarFile', 'avatarUrl', 'permission', 'boardIds'],
  ...{ colors: wekanColors, position: 'sort' },
  lists: {
    ...{ 'swimlanes.*': 'lanes', 'lists.*': 'lists', 'labels.*': 'labels', 'users.*': 'people' },
    ...{ 'customFields.*': 'fields', 'checklists.*': 'checklists', 'attachments.*': 'links' },
  },
  rows: { cards: ['cards.*', 'subtaskItems.*'], items: ['checklistItems.*'], comments: ['comments.*'] },
  card(card) {
    const { blockers, others } = dependenciesOf(card)
    return { blockedBy: blockers, notes: { 'Linked card': others } }
  },
})

function dependenciesOf(card: Entry) {
  const { cardDependencies: given } = card.value
  const [blockers, others]: [string[], string[]] = [[], []]
  for (const one of Array.isArray(given) ? given : []) {
    // Old versions store only the id of the other card.
    const { cardId: id, type } = isObject(one) ? one : { cardId: one }
    if (typeof id !== 'string') continue
    if (type === 'is-blocked-by') blockers.push(id)
    else others.push(`${id} (${String(type ?? 'related-to')})`)
  }
  return { blockers, others }
}

/** Reads responses of Planka's API one after the other: boards, cards of a list, comments and actions of a card. */
export const readPlanka = boardReader({
  missing: 'The file is not a response of the API of Planka with a board: it has no included lists and cards',
  ...{ omit: [], omitInLists: ['thumbnailUrls', 'image', 'description'] },
  ...{ colors: plankaColors, position: 'position' },
  lists: {
    ...{ 'included.lists.*': 'lists', 'included.labels.*': 'labels', 'included.users.*': 'people' },
    ...{ 'included.customFields.*': 'fields', 'included.taskLists.*': 'checklists' },
    ...{ 'included.cardLabels.*': 'links', 'included.cardMemberships.*': 'links' },
    ...{ 'included.customFieldValues.*': 'links', 'included.attachments.*': 'links' },
  },
  rows: { cards: ['included.cards.*', 'items.*'], items: ['included.tasks.*'], comments: ['items.*'] },
  // The response with the cards of a list has the cards in `items`.
  isCard: (row) => row.text('listId') !== undefined,
  card(card, board) {
    // An archived card names its previous list.
    const [list, previous] = ['listId', 'prevListId'].map((key) =>
      nameOf(board.find('lists', card.text(key))),
    )
    return { list: list ?? previous }
  },
})

/** Reads the output of `occ deck:export`, the export of a board, or a response of the API of Nextcloud Deck. */
export const readDeck = boardReader({
  missing: 'The file is not a Deck export of boards with cards: it has no stacks',
  omit: ['contentBase64', 'board', 'acl', 'mentions', 'replyTo', 'users', 'permissions', 'settings'],
  ...{ omitInLists: ['cards'], position: 'order' },
  lists: {
    ...{ 'boards.*': 'lanes', 'stacks.*': 'lists', 'labels.*': 'labels' },
    // A list of boards or stacks.
    '*': (row) => (row.isSet('stacks') ? 'lanes' : row.isSet('boardId') ? 'lists' : undefined),
  },
  rows: {
    cards: ['boards.*.stacks.*.cards.*', 'stacks.*.cards.*', '*.stacks.*.cards.*', '*.cards.*'],
  },
})
