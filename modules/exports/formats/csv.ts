import type { FieldRow } from '../../../drizzle/rows.ts'
import type { ProjectParts } from '../exported-project.ts'
import {
  commentCell,
  csvColumns,
  type CsvColumn,
  escapeFormula,
  fieldPrefix,
  linesCell,
  personCell,
  subtaskCell,
} from '../cells.ts'
import type { ExportedTask, Format, Writer } from './format.ts'

const byteOrderMark = '\ufeff'
const lineEnd = '\r\n'

/** RFC 4180. */
const quoted = (text: string): string =>
  /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

function cell(value: unknown): string {
  if (value == null) return ''
  return typeof value === 'string' ? quoted(escapeFormula(value)) : String(value)
}

type Cells = Partial<Record<CsvColumn, unknown>>

function cellsOf({ shown, author }: ExportedTask, { labels, people }: ProjectParts): Cells {
  const { labelIds, blockedByIds, assigneeId, ...own } = shown
  const assignee = people.get(assigneeId ?? '')
  const known = author && (people.get(author.id) ?? author)
  return {
    ...own,
    assignee: assignee && personCell(assignee),
    labels: linesCell(labelIds.map((id) => labels.get(id)!)),
    blockedBy: linesCell(blockedByIds),
    author: known && personCell(known),
  }
}

const fieldCells = (fields: FieldRow[], { shown }: ExportedTask): string =>
  fields.map(({ key }) => `,${cell(shown.fields[key])}`).join('')

type ShownComment = Parameters<typeof commentCell>[0] & { authorId: string }

/** The functions that write a child into its cell, by entity. */
const childCells = ({ people }: ProjectParts): Record<string, (shown: never) => string> => ({
  subtask: subtaskCell,
  comment: (shown: ShownComment) =>
    commentCell({ ...shown, author: people.get(shown.authorId) ?? shown.author }),
})

/** A task for each row, for spreadsheets. */
export const csv: Format = {
  contentType: 'text/csv; charset=utf-8',
  extension: 'csv',
  hasAuthors: true,
  open(_, parts): Writer {
    const { fields } = parts
    const children = childCells(parts)
    const own = csvColumns.slice(0, -2)
    let rest = ''
    let separator = ''
    return {
      begin: () =>
        byteOrderMark + [...csvColumns, ...fields.map(({ key }) => fieldPrefix + key)].join() + lineEnd,
      task(task) {
        const cells = cellsOf(task, parts)
        rest = fieldCells(fields, task) + lineEnd
        return own.map((name) => cell(cells[name])).join()
      },
      beginChildren(entity) {
        separator = ''
        return entity in children ? ',"' : ''
      },
      child(entity, shown) {
        const text = children[entity]?.(shown as never)
        if (text === undefined) return ''
        const more = separator + text.replaceAll('"', '""')
        separator = '\n'
        return more
      },
      endChildren: (entity) => (entity in children ? '"' : ''),
      endTask: () => rest,
      end: () => '',
    }
  },
}
