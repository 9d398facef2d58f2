import type { FieldItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { maxLinks } from '../json/json-file.ts'
import { attachmentNote, namesNote, note, personOf } from '../json/parts.ts'
import { KeyMap } from '../key-map.ts'
import type { Reader } from '../reader.ts'
import { type Board, boardReader } from './board.ts'
import { wekanColors } from './colors.ts'

const [swimlanes, attachments] = ['swimlanes.*', 'attachments.*'] as const

/** Reads the JSON export of a WeKan board. */
export const readWekan: Reader = (input) => {
  // Cards that are parts of other cards may be in the file twice.
  const subCards = new KeyMap<true>()
  return boardReader({
    parts: {
      ...{ lists: 'lists.*', labels: 'labels.*', people: 'users.*', fields: 'customFields.*' },
      ...{ checklists: 'checklists.*', links: [swimlanes, attachments] },
      ...{ cards: ['cards.*', 'subtaskItems.*'], items: 'checklistItems.*', comments: 'comments.*' },
    },
    required: ['lists'],
    missing: 'The file is not the JSON export of a WeKan board: it has no lists',
    index: { omit: ['file', 'avatarFile', 'avatarUrl', 'permission', 'boardIds'] },
    colors: wekanColors,
    position: 'sort',
    idOf,
    person: (user) => personOf([user.entry('profile')?.text('fullname'), user.text('username'), idOf(user)]),
    field(field) {
      const type = types[field.text('type') ?? '']
      const items = type === 'choice' ? field.entry('settings')?.entries('dropdownItems') : undefined
      return { id: idOf(field), type, options: items?.map((item) => [idOf(item), item.text('name') ?? '']) }
    },
    card(card, board) {
      if (card.part === 'comments.*') return undefined
      const id = idOf(card)
      if (card.text('parentId') && subCards.has(id)) return undefined
      if (card.text('parentId') && subCards.size < maxLinks) subCards.set(id, true)
      return cardOf(card, board)
    },
    item: (item, board) => ({
      ...{ key: idOf(item), task: item.required('cardId'), title: item.required('title') },
      checklist: board.checklists.get(item.text('checklistId') ?? ''),
      ...{ completed: item.isTrue('isFinished'), createdAt: item.text('createdAt') },
    }),
    comment: (comment, board) => ({
      ...{ task: comment.required('cardId'), key: idOf(comment), text: comment.required('text') },
      ...{ author: board.person(comment.text('userId')), createdAt: comment.text('createdAt') },
    }),
  })(input)
}

/** Exports of some versions have `id` in place of `_id`. */
const idOf = (entry: Entry): string => entry.text('_id') ?? entry.required('id')

const types: Record<string, FieldItem['type']> = {
  ...{ number: 'number', currency: 'number', checkbox: 'boolean', date: 'date', dropdown: 'choice' },
}

function cardOf(card: Entry, board: Board) {
  const listId = card.text('listId')
  const lanes = board.index[swimlanes]!
  const laneKey = lanes[0]?.has('_id') ? '_id' : 'id'
  const [lane] = lanes.length > 1 ? board.of(swimlanes, card.text('swimlaneId') ?? '', laneKey) : []
  return {
    ...{ key: idOf(card), listId, title: card.required('title'), description: card.text('description') },
    list: board.lists.get(listId ?? '')?.text('title'),
    ...(card.isTrue('dueComplete') && { status: 'DONE' as const }),
    ...{ dueDate: card.text('dueAt'), createdAt: card.text('createdAt') },
    author: board.person(card.text('userId')),
    people: board.persons([...new Set([...card.texts('assignees'), ...card.texts('members')])]),
    labels: [
      ...board.labelNames(card.texts('labelIds')),
      ...(lane?.text('title') ? [lane.required('title')] : []),
    ],
    values: card.entries('customFields').map((entry): [string, Value] => [idOf(entry), valueOf(entry)]),
    parent: card.text('parentId'),
    blockedBy: dependenciesOf(card).flatMap(({ type, id }) => (type === 'is-blocked-by' ? id : [])),
    notes: notesOf(card, board),
  }
}

type Value = string | number | boolean | undefined

function valueOf(entry: Entry): Value {
  const given = entry.value.value ?? ''
  const value = Array.isArray(given) ? entry.texts('value').join(', ') : given
  return typeof value === 'object' || value === '' ? undefined : value
}

/** Old versions store only the id of the other card. */
function dependenciesOf(card: Entry): { type: string; id: string }[] {
  const dependencies = card.value.cardDependencies
  if (!Array.isArray(dependencies)) return []
  return dependencies.flatMap((one) => {
    const { cardId, type } =
      typeof one === 'object' && one !== null && !Array.isArray(one) ? one : { cardId: one }
    return typeof cardId === 'string' ? { id: cardId, type: String(type ?? 'related-to') } : []
  })
}

/** Returns lines for the values that have no field in tasks. */
function notesOf(card: Entry, board: Board): string[] {
  const users = (key: string) => board.persons(card.texts(key))
  const vote = card.entry('vote')
  const voters = (key: string) => board.persons(vote?.texts(key) ?? [])
  const list = board.lists.get(card.text('listId') ?? '')
  return [
    ...(card.isTrue('archived') ? ['Archived'] : list?.isTrue('archived') ? ['In an archived list'] : []),
    ...(card.text('type') === 'template-card' ? ['Template'] : []),
    ...note('Received', card.text('receivedAt')),
    ...note('Start', card.text('startAt')),
    ...note('End', card.text('endAt')),
    ...note('Spent time in hours', card.number('spentTime')),
    ...(card.isTrue('isOvertime') ? ['Overtime'] : []),
    ...note('Requested by', card.text('requestedBy')),
    ...namesNote('Requested by', users('requesters')),
    ...note('Assigned by', card.text('assignedBy')),
    ...namesNote('Assigned by', users('assigners')),
    ...note('Vote', vote?.text('question')),
    ...namesNote('Votes for', voters('positive')),
    ...namesNote('Votes against', voters('negative')),
    ...note('Estimate of the planning poker', card.entry('poker')?.text('estimation')),
    ...note('Location', card.text('locationName')),
    ...note('Address', card.text('locationAddress')),
    ...dependenciesOf(card).flatMap(({ type, id }) =>
      type === 'is-blocked-by' ? [] : note('Linked card', `${id} (${type})`),
    ),
    ...board.of(attachments, idOf(card)).flatMap((one) => attachmentNote(one.text('name'), one.text('url'))),
  ]
}
