import type { ImportedItem, TaskItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { assigneesOf, attachmentNote, isoTime, itemOf, lostTime, namesNote, note } from '../json/items.ts'
import { type Board, nameOf } from './trello-board.ts'

/** Ids of Trello begin with the time of the creation: seconds since 1970, in 8 hexadecimal digits. */
export const createdAtOf = (id: string): string | undefined =>
  /^[0-9a-f]{24}$/i.test(id) ? isoTime(Number.parseInt(id.slice(0, 8), 16) * 1000) : undefined

export function cardOf(card: Entry, row: number, board: Board): TaskItem {
  const key = card.required('id')
  const list = board.lists.get(card.text('idList') ?? '')
  const { assignee, others } = assigneesOf(card.texts('idMembers').map((id) => board.member(id)!))
  const { fields, notes, messages } = fieldValuesOf(card, board)
  return itemOf<TaskItem>({
    ...{ kind: 'task', row, key, title: card.required('name'), description: card.text('desc') },
    list: list?.text('name'),
    status: card.isTrue('dueComplete') ? 'DONE' : undefined,
    dueDate: card.text('due'),
    remindAt: remindAtOf(card),
    createdAt: createdAtOf(key),
    assignee,
    labels: labelsOf(card, board),
    fields,
    notes: [...notesOf(card, list, board), ...others, ...notes],
    messages,
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
  return [...new Set([...known, ...(card.has('labels') ? card.entries('labels').map(nameOf) : [])])]
}

/** A reminder is some minutes before the due time; -1: none. */
function remindAtOf(card: Entry): string | undefined {
  const minutes = card.number('dueReminder') ?? -1
  const due = card.text('due')
  if (minutes < 0 || !due || card.isTrue('dueComplete') || card.isTrue('closed')) return undefined
  return isoTime(Date.parse(due) - minutes * 60_000)
}

function fieldValuesOf(card: Entry, board: Board) {
  const fields: Record<string, string | number | boolean> = {}
  const notes: string[] = []
  const messages: string[] = []
  for (const entry of card.entries('customFieldItems')) {
    const id = entry.required('idCustomField')
    const field = board.fields.get(id)
    const option = entry.text('idValue')
    const value = option === undefined ? plainValueOf(entry) : (field?.options.get(option) ?? option)
    if (value === undefined) continue
    if (!field) notes.push(`Custom field ${id}: ${value}`)
    else {
      fields[field.item.key] = value
      messages.push(...lostTime(field.item, value))
    }
  }
  return { fields, notes: notes, messages }
}

function plainValueOf(entry: Entry): string | number | boolean | undefined {
  const value = entry.entry('value')
  const number = value?.text('number')
  if (number !== undefined) return Number.isFinite(Number(number)) ? Number(number) : number
  if (value?.has('checked')) return value.isTrue('checked') || value.value.checked === 'true'
  return value?.text('text') ?? value?.text('date')
}

/** The cards that have several checklists. The names of these checklists begin the titles of their items. */
export class Several {
  private readonly cards = new Set<string>()

  add(card: Entry): void {
    if (card.texts('idChecklists').length > 1) this.cards.add(card.required('id'))
  }

  prefixFor(checklist: Entry): string {
    const name = checklist.text('name')
    return name && this.cards.has(checklist.text('idCard') ?? '') ? `${name}: ` : ''
  }
}

/** An item with a due date or a member is a nested task, because a subtask has neither. */
export function checkItemOf(
  item: Entry,
  row: number,
  task: string,
  prefix: string,
  board: Board,
): ImportedItem {
  const key = item.required('id')
  const common = { row, key, title: prefix + item.required('name'), createdAt: createdAtOf(key) }
  const completed = item.text('state') === 'complete'
  const dueDate = item.text('due')
  const assignee = board.member(item.text('idMember'))
  if (!dueDate && !assignee) return itemOf({ kind: 'subtask', ...common, task, completed })
  const status = completed ? 'DONE' : 'TODO'
  return itemOf({ kind: 'task', ...common, parent: task, status, dueDate, assignee })
}
