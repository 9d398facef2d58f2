import type { CellComment } from '../../../exports/cells.ts'
import { unreadDate } from '../csv/cell-readers.ts'
import type { Dates } from '../csv/dates/dates.ts'
import { addNote, type Draft } from '../csv/drafts.ts'

/** Reads `14/Mar/26 2:15 PM;Ada;The text`. Adds an ambiguous date to the foot of the description. */
export function jiraComment(comment: CellComment, draft: Draft, dates: Dates): CellComment {
  const [, start = '', name = '', rest = ''] = /^([^;\n]+);([^;\n]*);([\s\S]*)$/.exec(comment.text) ?? []
  const [date, author, text] = [start.trim(), name.trim(), rest.trim()]
  const createdAt = dates.read(date)
  if (text === '' || (!createdAt && !dates.isAmbiguous(date))) return comment
  if (!createdAt) addNote(draft, author ? `Comment of ${author}` : 'Comment', date, unreadDate(date))
  return { text, ...(createdAt && { createdAt }), ...(author && { author: { name: author } }) }
}
