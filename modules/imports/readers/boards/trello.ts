import type { FieldItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { maxLinks } from '../json/json-file.ts'
import { KeyMap } from '../key-map.ts'
import type { Reader } from '../reader.ts'
import { archived, attachment, type Board, doneIf, type FieldValue, isoTime } from './board.ts'
import { boardReader } from './board-reader.ts'
import { trelloColors } from './colors.ts'

const omit =
  'limits,attachmentsByType,cover,descData,pluginData,previews,prefs,display,nonPublic,old,perms'.split(',')
const creations = ['createCard', 'copyCard', 'convertToCardFromCheckItem', 'emailCard']
const comments = ['commentCard', 'copyCommentCard']
const types: Record<string, FieldItem['type']> = {
  ...{ number: 'number', checkbox: 'boolean', date: 'date', list: 'choice' },
}
/** Bounds the memory for names of creators. The names of valid authors are shorter. */
const maxNameCharacters = 1_000

/** Reads the JSON export of a Trello board. */
export const readTrello: Reader = (input) => {
  /** The names or ids of the creators, by the ids of cards. */
  const creators = new KeyMap<string>()
  const checklists: Entry[] = []
  return boardReader({
    missing: 'The file is not the JSON export of a Trello board: it has no lists',
    ...{ omit, omitInLists: ['checkItems'], description: 'desc', colors: trelloColors, position: 'pos' },
    lists: {
      ...{ 'lists.*': 'lists', 'labels.*': 'labels', 'members.*': 'people', 'customFields.*': 'fields' },
      'checklists.*': (row) => [['checklists', (checklists[Number(row.path[1])] = row)]],
    },
    rows: {
      ...{ cards: ['cards.*'], items: ['checklists.*.checkItems.*'] },
      ...{ comments: ['actions.*'], counted: ['actions.*'] },
    },
    field: (field) => ({
      type: types[field.text('type') ?? ''],
      options: field.entries('options').map((one) => [one.required('id'), one.text('value.text') ?? '']),
    }),
    /** Trello writes only the newest 1,000 actions. Comments and the creations of cards are actions. */
    scan(action) {
      const card = creations.includes(action.text('type') ?? '') ? action.text('data.card.id') : undefined
      const creator = action.text('memberCreator.fullName|memberCreator.username|idMemberCreator')
      if (card !== undefined && creator !== undefined && creators.size < maxLinks)
        creators.set(card, creator.slice(0, maxNameCharacters))
    },
    card: (card, board) => ({
      ...{ description: card.text('desc'), listId: card.text('idList'), dueDate: card.text('due') },
      ...{
        status: doneIf(card.isSet('dueComplete')),
        remindAt: remindAt(card),
        createdAt: createdAtOf(card),
      },
      author: board.person(card, 'creator', creators.get(card.required('id'))),
      people: board.people(card, 'idMembers'),
      labels: [...board.labelNames(card, 'idLabels'), ...board.labelNames(card, 'labels')],
      values: card.entries('customFieldItems').map(valueOf),
      notes: notesOf(card, board),
      total: card.number('badges.comments'),
    }),
    item: (item, board) => ({
      checklist: checklists[Number(item.path[1])],
      status: doneIf(item.text('state') === 'complete'),
      ...{ createdAt: createdAtOf(item), dueDate: item.text('due'), people: board.people(item, 'idMember') },
    }),
    comment: (action, board) => ({
      task: comments.includes(action.text('type') ?? '') ? action.text('data.card.id') : undefined,
      ...{ text: action.text('data.text'), createdAt: action.text('date') },
      author: board.person(action, 'memberCreator') ?? board.person(action, 'idMemberCreator'),
    }),
  })(input)
}

const notesOf = (card: Entry, board: Board) => ({
  ...archived(card, board.find('lists', card.text('idList')), 'closed'),
  Template: card.get('isTemplate'),
  Start: card.get('start'),
  Completed: card.get('dateCompleted'),
  Location: card.get('locationName'),
  Address: card.get('address'),
  Coordinates: card.get('coordinates'),
  Votes: board.names(card, 'idMembersVoted'),
  Attachment: card.entries('attachments').map((one) => attachment(one.text('name'), one.text('url'))),
})

/** Ids of Trello begin with the time of the creation: seconds since 1970, in 8 hexadecimal digits. */
function createdAtOf(row: Entry): string | undefined {
  const id = row.required('id')
  return /^[0-9a-f]{24}$/i.test(id) ? isoTime(Number.parseInt(id.slice(0, 8), 16) * 1000) : undefined
}

/** Trello stores a reminder as minutes before the due time. -1: no reminder. */
function remindAt(card: Entry): string | undefined {
  const minutes = card.number('dueReminder') ?? -1
  if (minutes < 0 || card.isSet('dueComplete') || card.isSet('closed')) return undefined
  return isoTime(Date.parse(card.text('due') ?? '') - minutes * 60_000)
}

function valueOf(item: Entry): FieldValue {
  const number = item.text('value.number')
  const checked = item.get('value.checked')
  const value =
    item.text('idValue') ??
    (number === undefined ? undefined : Number.isFinite(Number(number)) ? Number(number) : number) ??
    (checked === undefined ? item.get('value.text|value.date') : checked === true || checked === 'true')
  return [item.required('idCustomField'), value]
}
