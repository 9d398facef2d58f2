import type { CellComment } from '../../../exports/cells.ts'
import type { Dates } from '../csv/dates/dates.ts'

/** Reads `14/Mar/26 2:15 PM;Ada;The text`. */
export function jiraComment(comment: CellComment, dates: Dates): CellComment {
  const [, date = '', author = '', text = ''] = /^([^;\n]+);([^;\n]*);([\s\S]*)$/.exec(comment.text) ?? []
  const createdAt = dates.read(date.trim())
  if (!createdAt || text.trim() === '') return comment
  return { text: text.trim(), createdAt, ...(author.trim() && { author: { name: author.trim() } }) }
}
