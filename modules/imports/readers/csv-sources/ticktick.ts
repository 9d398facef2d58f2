import { DateTime } from 'luxon'
import { DigestKeys, shortKey } from '../../convert/keys.ts'
import type { Draft } from '../csv/cells.ts'
import { csvReader, type SourceContext, type SourceRows } from '../csv/csv-reader.ts'
import { notImported } from '../csv/headers.ts'
import type { Row } from '../csv/rows.ts'
import { oneLine } from '../csv/values.ts'
import { KeyMap } from '../key-map.ts'

/** Reads the backup of TickTick. Above its header are lines about the file. */
export const readTickTick = csvReader(() => ({
  columns: {
    ...notImported(`kind,is check list,status,timezone,is all day,task id,parent id,order,is floating,column order,
      view mode,project kind`),
    ...{ 'folder name': 'field.folder', reminder: 'field.reminder', 'column name': 'status' },
  },
  zone: 'timezone',
  priorities: { '0': undefined, '1': 'LOW', '3': 'MEDIUM', '5': 'HIGH' },
  read: (context) => new TickTickRows(context),
}))

class TickTickRows implements SourceRows {
  private readonly keys = new DigestKeys()
  private readonly keysById = new KeyMap<string>()
  private readonly scanKeys = new DigestKeys()

  constructor(private readonly context: SourceContext) {}

  scan(row: Row): void {
    this.keysById.set(row.text('task id'), shortKey(keyOf(row, this.scanKeys)))
  }

  finish(draft: Draft, row: Row): void {
    const { task } = draft
    task.key = keyOf(row, this.keys)
    if (task.key !== row.text('task id')) task.hasNoId = true
    const parent = row.text('parent id')
    if (parent !== '') task.parent = this.keysById.get(parent) ?? parent
    const status = row.text('status')
    if (status !== '') draft.isCompleted = status !== '0'
    if (row.text('kind') === 'NOTE') task.labels = [...(task.labels ?? []), 'Note']
    if (row.text('is check list') === 'Y') finishChecklist(draft)
    // The time of an all-day task is midnight in its time zone.
    const zone = this.context.dates.zoneOf(row.text('timezone') || 'UTC')
    if (row.text('is all day') === 'true' && task.dueDate?.includes('T'))
      task.dueDate = DateTime.fromISO(task.dueDate, { zone }).toISODate() ?? task.dueDate
  }
}

/** Some backups number their tasks 1, 2, 3 …. The next backup may number them differently, so a number is no key. */
function keyOf(row: Row, keys: DigestKeys): string {
  const id = row.text('task id')
  if (id !== '' && !/^\d{1,9}$/.test(id)) return id
  return keys.next(row.text('created time'), oneLine(row.text('title')))
}

/** The items of a checklist begin with ▫, or with ▪ if they are complete. */
function finishChecklist({ task, subtasks }: Draft): void {
  const [text = '', ...items] = (task.description ?? '').split(/(?=[▫▪])/u)
  for (const item of items) {
    const title = item.slice(1).trim()
    if (title !== '') subtasks.push({ title, completed: item.startsWith('▪') })
  }
  if (items.length > 0) task.description = text.trim()
  if (task.description === '') delete task.description
}
