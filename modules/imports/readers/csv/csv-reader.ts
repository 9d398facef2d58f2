import type { CommentItem, ImportedItem, SubtaskItem } from '../../items.ts'
import type { Mapping } from '../../mapping.ts'
import { DigestKeys } from '../../plan/keys.ts'
import type { Reader } from '../reader.ts'
import { columnsOf, isTitle } from './columns/columns.ts'
import { Dates } from './dates/dates.ts'
import type { Draft } from './drafts.ts'
import { draftOf } from './fills.ts'
import { findHeader } from './header.ts'
import { planOf } from './columns/plan.ts'
import { readRows, unevenCells } from './rows.ts'
import type { CsvSource } from './source.ts'
import { Survey } from './columns/survey.ts'

/** Returns the reader of a system's CSV files. It reads the file twice: first the kinds of values, then the tasks. */
export const csvReader = (source: CsvSource): Reader =>
  async function* ({ open, mapping, propose }) {
    const dates = new Dates(mapping)
    const header = await findHeader(open, isTitle(source.columns, mapping))
    const known = source.columns ?? source.columnsFor?.(header.names)
    const columns = columnsOf(header.names, mapping, known)
    const rows = source.read?.({ mapping, dates, names: header.names }) ?? {}
    const survey = new Survey(columns)
    for await (const row of readRows(open, header)) {
      survey.look(row)
      rows.look?.(row)
    }
    const dateFormat = survey.decideOrder(dates)
    const plan = planOf(columns, survey)
    propose({ columns: plan.proposal, ...(dateFormat && { dateFormat }), ...rows.proposal?.() })
    yield* plan.fields
    const keys = new DigestKeys()
    const { priorities, zone } = source
    const { listSeparator } = rows
    for await (const row of readRows(open, header)) {
      const inRow = { dates, priorities, listSeparator, zone: zone && row.text(zone) }
      const draft = draftOf(row, plan.columns, inRow)
      const { messages, notes } = unevenCells(row, columns.length)
      draft.messages.push(...messages)
      draft.notes.push(...notes)
      if (rows.finish?.(draft, row) === false) yield* rows.others?.(draft, row) ?? []
      else yield* itemsOf(draft, keys, mapping)
    }
    if (dates.usedZone) propose({ timeZone: dates.zone })
  }

/** Returns the task of a draft, then its subtasks and comments. */
function itemsOf(draft: Draft, keys: DigestKeys, mapping: Mapping): ImportedItem[] {
  const { task } = draft
  finishStatus(draft, mapping)
  task.title ||= substitute(draft)
  const key = (task.key ??= keys.next(task.title))
  if (draft.notes.length > 0) task.notes = draft.notes
  if (draft.messages.length > 0) task.messages = draft.messages
  const child = { row: task.row, task: key }
  const subtasks = draft.subtasks.map((subtask): SubtaskItem => ({ kind: 'subtask', ...child, ...subtask }))
  const comments = draft.comments.map((comment): CommentItem => ({ kind: 'comment', ...child, ...comment }))
  return [task, ...subtasks, ...comments]
}

/** The status that the mapping gives to a list takes precedence over what the source says. */
function finishStatus({ task, section, isCompleted }: Draft, { statuses = {} }: Mapping): void {
  if (section && !task.list && !task.status) task.list = section
  else if (section) task.labels = [...new Set([...(task.labels ?? []), section])]
  const given = task.list === undefined ? undefined : statuses[task.list]
  if (isCompleted && given === undefined) task.status = 'DONE'
}

function substitute({ task, messages }: Draft): string {
  messages.push('The row has no title')
  return task.description?.trim().split('\n')[0]!.slice(0, 200) || task.key || 'Untitled'
}
