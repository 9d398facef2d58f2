import type { Entry } from '../json/entry.ts'
import { attachmentNote, namesNote, note } from '../json/notes.ts'
import type { Board } from './board.ts'
import { idOf } from './ids.ts'

/** Old versions store only the id of the other card. */
export function dependenciesOf(card: Entry): { type: string; id: string }[] {
  const dependencies = card.value.cardDependencies
  if (!Array.isArray(dependencies)) return []
  return dependencies.flatMap((one) => {
    const { cardId, type } =
      typeof one === 'object' && one !== null && !Array.isArray(one) ? one : { cardId: one }
    return typeof cardId === 'string' ? { id: cardId, type: String(type ?? 'related-to') } : []
  })
}

/** Returns lines for the values that have no field in tasks. */
export function notesOf(card: Entry, list: Entry | undefined, board: Board): string[] {
  const users = (key: string) => card.texts(key).map((id) => board.user(id)!)
  const vote = card.entry('vote')
  const voters = (key: string) => (vote?.texts(key) ?? []).map((id) => board.user(id)!)
  const isArchived = card.isTrue('archived')
  return [
    ...(isArchived ? ['Archived'] : list?.isTrue('archived') ? ['In an archived list'] : []),
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
    ...(board.attachments.get(idOf(card)) ?? []).flatMap((one) =>
      attachmentNote(one.text('name'), one.text('url')),
    ),
  ]
}
