import type { TaskItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { isoTime, itemOf } from '../json/items.ts'
import { labelName } from '../json/labels.ts'
import { assigneesOf, attachmentNote, namesNote, note } from '../json/notes.ts'
import type { Actions } from './actions.ts'
import type { Board } from './board.ts'
import { fieldValuesOf } from './fields.ts'
import { createdAtOf } from './ids.ts'

export function cardOf(card: Entry, board: Board, { comments, creators }: Actions): TaskItem {
  const key = card.required('id')
  const list = board.lists.get(card.text('idList') ?? '')
  const { assignee, others } = assigneesOf(card.texts('idMembers').map((id) => board.member(id)!))
  const { fields, notes, messages } = fieldValuesOf(card, board.fields)
  const missing = comments.missing(key, card.entry('badges')?.number('comments'))
  const creator = creators.get(key)
  return itemOf<TaskItem>({
    ...{ kind: 'task', row: card.row, key, title: card.required('name'), description: card.text('desc') },
    list: list?.text('name'),
    status: card.isTrue('dueComplete') ? 'DONE' : undefined,
    dueDate: card.text('due'),
    remindAt: remindAtOf(card),
    createdAt: createdAtOf(key),
    author: creator === undefined ? undefined : { name: creator },
    assignee,
    labels: labelsOf(card, board),
    fields,
    notes: [...notesOf(card, list, board), ...others, ...notes],
    messages: [...missing, ...messages],
  })
}

function notesOf(card: Entry, list: Entry | undefined, board: Board): string[] {
  const coordinates = card.value.coordinates ?? undefined
  const isArchived = card.isTrue('closed')
  return [
    ...(isArchived ? ['Archived'] : list?.isTrue('closed') ? ['In an archived list'] : []),
    ...(card.isTrue('isTemplate') ? ['Template'] : []),
    ...note('Start', card.text('start')),
    ...note('Completed', card.text('dateCompleted')),
    ...note('Location', card.text('locationName')),
    ...note('Address', card.text('address')),
    ...note('Coordinates', coordinates === undefined ? undefined : JSON.stringify(coordinates)),
    ...namesNote(
      'Votes',
      card.texts('idMembersVoted').map((id) => board.member(id)!),
    ),
    ...card.entries('attachments').flatMap((one) => attachmentNote(one.text('name'), one.text('url'))),
  ]
}

function labelsOf(card: Entry, { labels }: Board): string[] {
  const known = card.texts('idLabels').flatMap((id) => labels.names.get(id) ?? [])
  return [...new Set([...known, ...(card.has('labels') ? card.entries('labels').map(labelName) : [])])]
}

/** Trello stores a reminder as minutes before the due time. -1: no reminder. */
function remindAtOf(card: Entry): string | undefined {
  const minutes = card.number('dueReminder') ?? -1
  const due = card.text('due')
  if (minutes < 0 || !due || card.isTrue('dueComplete') || card.isTrue('closed')) return undefined
  return isoTime(Date.parse(due) - minutes * 60_000)
}
