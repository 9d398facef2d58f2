import type { FieldItem, ImportedPerson, TaskItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { maxLinks } from '../json/json-file.ts'
import { attachmentNote, isoTime, namesNote, note, personOf } from '../json/parts.ts'
import { KeyMap } from '../key-map.ts'
import type { Reader } from '../reader.ts'
import { type Board, boardReader, labelName } from './board.ts'
import { trelloColors } from './colors.ts'

/** Keys of a board whose values are not imported. */
const details =
  `limits,attachmentsByType,cover,descData,pluginData,previews,prefs,display,nonPublic,old,perms`.split(',')
const checklists = 'checklists.*'

/** Reads the JSON export of a Trello board. */
export const readTrello: Reader = (input) => {
  /** The names of the creators, by the ids of cards. */
  const creators = new KeyMap<string>()
  return boardReader({
    parts: {
      ...{ lists: 'lists.*', labels: 'labels.*', people: 'members.*', fields: 'customFields.*', checklists },
      ...{
        description: 'desc',
        cards: ['cards.*'],
        items: 'checklists.*.checkItems.*',
        comments: 'actions.*',
      },
    },
    required: ['lists'],
    missing: 'The file is not the JSON export of a Trello board: it has no lists',
    index: { omit: ['limits', 'display', 'prefs', 'nonPublic', 'checkItems'] },
    rows: { omit: details },
    colors: trelloColors,
    position: 'pos',
    idOf: (entry) => entry.required('id'),
    person: (member) => personOf([member.text('fullName'), member.text('username')]),
    field: (field) => ({
      id: field.required('id'),
      type: types[field.text('type') ?? ''],
      options: field
        .entries('options')
        .map((option) => [option.required('id'), option.entry('value')?.text('text') ?? '']),
    }),
    /** Trello writes only the newest 1,000 actions. Comments and the creations of cards are actions. */
    scan(action, board) {
      const commented = commentedCard(action)
      if (commented !== undefined) board.comments.add(commented)
      const created = creations.includes(action.text('type') ?? '') ? cardIn(action) : undefined
      const creator = creatorOf(action, board)?.name.slice(0, maxNameCharacters)
      if (created !== undefined && creator !== undefined && creators.size < maxLinks)
        creators.set(created, creator)
    },
    card: (card, board) => (card.part === 'cards.*' ? cardOf(card, board, creators) : undefined),
    item(item, board) {
      const checklist = board.index[checklists]![Number(item.path[1])]
      const key = item.required('id')
      return {
        ...{ key, task: checklist?.text('idCard'), checklist, title: item.required('name') },
        ...{ createdAt: createdAtOf(key), completed: item.text('state') === 'complete' },
        ...{ dueDate: item.text('due'), assignee: board.person(item.text('idMember')) },
      }
    },
    comment(action, board) {
      const task = commentedCard(action)
      const data = action.entry('data')
      if (!data || task === undefined) return undefined
      const text = data.text('text') ?? ''
      const author = creatorOf(action, board)
      return { task, key: action.required('id'), text, author, createdAt: action.text('date') }
    },
  })(input)
}

const types: Record<string, FieldItem['type']> = {
  ...{ number: 'number', checkbox: 'boolean', date: 'date', list: 'choice' },
}
const creations = ['createCard', 'copyCard', 'convertToCardFromCheckItem', 'emailCard']
/** An author has fewer characters. */
const maxNameCharacters = 1_000

const cardIn = (action: Entry) => action.entry('data')?.entry('card')?.text('id')

/** Returns the id of the card if the action is a comment. */
const commentedCard = (action: Entry): string | undefined =>
  ['commentCard', 'copyCommentCard'].includes(action.text('type') ?? '') ? cardIn(action) : undefined

function creatorOf(action: Entry, board: Board): ImportedPerson | undefined {
  const member = action.entry('memberCreator')
  return (member && board.source.person(member)) ?? board.person(action.text('idMemberCreator'))
}

/** Ids of Trello begin with the time of the creation: seconds since 1970, in 8 hexadecimal digits. */
const createdAtOf = (id: string): string | undefined =>
  /^[0-9a-f]{24}$/i.test(id) ? isoTime(Number.parseInt(id.slice(0, 8), 16) * 1000) : undefined

function cardOf(card: Entry, board: Board, creators: KeyMap<string>) {
  const key = card.required('id')
  const listId = card.text('idList')
  const creator = creators.get(key)
  const own = card.has('labels') ? card.entries('labels').map(labelName) : []
  return {
    ...{ key, listId, title: card.required('name'), description: card.text('desc') },
    list: board.lists.get(listId ?? '')?.text('name'),
    ...(card.isTrue('dueComplete') && { status: 'DONE' as const }),
    ...{ dueDate: card.text('due'), remindAt: remindAtOf(card), createdAt: createdAtOf(key) },
    author: creator === undefined ? undefined : { name: creator },
    people: board.persons(card.texts('idMembers')),
    labels: [...new Set([...board.labelNames(card.texts('idLabels')), ...own])],
    values: card
      .entries('customFieldItems')
      .map((item): [string, Value] => [
        item.required('idCustomField'),
        item.text('idValue') ?? valueOf(item),
      ]),
    notes: notesOf(card, board),
    comments: card.entry('badges')?.number('comments'),
  } satisfies Partial<TaskItem> & Record<string, unknown>
}

function notesOf(card: Entry, board: Board): string[] {
  const list = board.lists.get(card.text('idList') ?? '')
  const coordinates = card.value.coordinates ?? undefined
  return [
    ...(card.isTrue('closed') ? ['Archived'] : list?.isTrue('closed') ? ['In an archived list'] : []),
    ...(card.isTrue('isTemplate') ? ['Template'] : []),
    ...note('Start', card.text('start')),
    ...note('Completed', card.text('dateCompleted')),
    ...note('Location', card.text('locationName')),
    ...note('Address', card.text('address')),
    ...note('Coordinates', coordinates === undefined ? undefined : JSON.stringify(coordinates)),
    ...namesNote('Votes', board.persons(card.texts('idMembersVoted'))),
    ...card.entries('attachments').flatMap((one) => attachmentNote(one.text('name'), one.text('url'))),
  ]
}

/** Trello stores a reminder as minutes before the due time. -1: no reminder. */
function remindAtOf(card: Entry): string | undefined {
  const minutes = card.number('dueReminder') ?? -1
  const due = card.text('due')
  if (minutes < 0 || !due || card.isTrue('dueComplete') || card.isTrue('closed')) return undefined
  return isoTime(Date.parse(due) - minutes * 60_000)
}

type Value = string | number | boolean | undefined

function valueOf(entry: Entry): Value {
  const value = entry.entry('value')
  const number = value?.text('number')
  if (number !== undefined) return Number.isFinite(Number(number)) ? Number(number) : number
  if (value?.has('checked')) return value.isTrue('checked') || value.value.checked === 'true'
  return value?.text('text') ?? value?.text('date')
}
