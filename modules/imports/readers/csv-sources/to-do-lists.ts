import { DateTime } from 'luxon'
import { DigestKeys } from '../../convert/keys.ts'
import type { ImportedItem } from '../../items.ts'
import { parseObject } from '../../parse-object.ts'
import { addNote, type Draft } from '../csv/cells.ts'
import { type CsvFormat, csvReader, type FileContext } from '../csv/csv-reader.ts'
import { notImported } from '../csv/headers.ts'
import type { Row } from '../csv/rows.ts'
import { oneLine, short } from '../csv/values.ts'

const maxIndent = 10
const maxMessageCharacters = 500

/** A project exported as a template, or a file of a backup. */
class TodoistFormat implements CsvFormat {
  readonly columns = {
    ...notImported('type,indent,date lang,timezone,duration,duration unit,deadline lang'),
    ...{ content: 'title', date: 'dueDate', deadline: 'field.deadline' },
  }
  readonly zone = 'timezone'
  readonly priorities = { '1': 'HIGH', '2': 'MEDIUM', '3': 'LOW', '4': undefined } as const
  private readonly keys = new DigestKeys()
  private section?: string
  /** The latest task of the section after its ancestors, outermost first. */
  private parents: { indent: number; title: string; key: string }[] = []
  private latest?: string

  constructor(private readonly context: FileContext) {}

  finish(draft: Draft, row: Row): ImportedItem[] | void {
    const type = row.text('type').toLowerCase()
    const { task } = draft
    // `Ada (48151623)` is the person Ada.
    for (const person of [task.author, task.assignee])
      if (person) person.name = person.name.replace(/ \(\d+\)$/, '')
    if (type === 'task') return this.finishTask(draft, row)
    for (const line of [...task.notes, ...task.messages]) this.report(row, line)
    if (type === 'section') {
      this.section = task.title
      this.parents = []
      const { description } = task
      if (description) this.report(row, `The description of the section was not imported: ${description}`)
    }
    return type === 'note' ? this.commentOf(draft, row) : []
  }

  private report({ number }: Row, message: string): void {
    this.context.reportRow(`Row ${number}: ${message}`.slice(0, maxMessageCharacters))
  }

  private finishTask(draft: Draft, row: Row): void {
    const { task } = draft
    const { title, labels } = withoutLabels(task.title)
    task.labels = [...(task.labels ?? []), ...labels]
    task.title = title
    const written = row.text('indent')
    if (Number.isNaN(Number(written))) addNote(draft, 'INDENT', written)
    const indent = Math.min(Math.round(Number(written)) || 1, maxIndent)
    while (this.parents.length > 0 && this.parents.at(-1)!.indent >= indent) this.parents.pop()
    const path = [this.section ?? '', ...this.parents.map((parent) => parent.title)]
    task.key = this.latest = this.keys.next(path, oneLine(title))
    task.hasNoId = true
    task.parent = this.parents.at(-1)?.key
    this.parents.push({ indent, title, key: task.key })
    draft.section = this.section
    const duration = `${row.text('duration')} ${row.text('duration unit')}`.trim()
    if (row.text('duration')) task.fields = { ...task.fields, duration }
  }

  private commentOf({ task: { author, dueDate } }: Draft, row: Row): ImportedItem[] {
    const { text, file } = withoutFile(row.text('content'))
    if (!this.latest) {
      this.report(row, `The comment on the whole project was not imported: ${text}`)
      return []
    }
    const message = `The file "${short(file ?? '')}" was not imported, only its name and address`
    const messages = file === undefined ? undefined : [message]
    const comment = { kind: 'comment', row: row.number, task: this.latest, text } as const
    return [{ ...comment, author, createdAt: dueDate, messages }]
  }
}

export const readTodoist = csvReader((context) => new TodoistFormat(context))

/** Todoist writes labels into the title: `Repot the basil @garden @weekend`. */
function withoutLabels(title: string): { title: string; labels: string[] } {
  const labels = [...title.matchAll(/(?<=^|\s)@(\S+)/g)].map(([, label]) => label!)
  const rest = title.replace(/(^|(?<!\s)\s+)@\S+/g, '').trim()
  return rest === '' ? { title, labels: [] } : { title: rest, labels }
}

/** A comment with a file ends with `[[file {"file_name":"plan.pdf","file_url":"https://…"}]]`. */
function withoutFile(content: string): { text: string; file?: string } {
  const [start, end] = [content.indexOf('[[file {'), content.lastIndexOf('}]]')]
  const given = start < 0 ? undefined : parseObject(content.slice(start + '[[file '.length, end + 1))
  if (!given) return { text: content }
  const [name, url] = [given.file_name, given.file_url].map((value) =>
    typeof value === 'string' ? value : '',
  )
  const line = `Attachment: ${name}${name && url ? ` (${url})` : url}`
  const texts = [content.slice(0, start), content.slice(end + 3), line].map((one) => one.trim())
  return { text: texts.filter((one) => one !== '').join('\n'), file: name || url || 'without a name' }
}

/** Reads the backup of TickTick. Above its header are lines about the file. */
export const readTickTick = csvReader(({ dates }) => {
  const [keys, scannedKeys] = [new DigestKeys(), new DigestKeys()]
  return {
    columns: {
      ...notImported(`kind,is check list,status,timezone,is all day,task id,order,is floating,column order,
        view mode,project kind`),
      ...{ 'folder name': 'field.folder', reminder: 'field.reminder', 'column name': 'status' },
    },
    zone: 'timezone',
    priorities: { '0': undefined, '1': 'LOW', '3': 'MEDIUM', '5': 'HIGH' },
    nameOf: (row) => [row.text('task id'), keyOf(row, scannedKeys)],
    finish(draft, row) {
      const { task } = draft
      task.key = keyOf(row, keys)
      if (task.key !== row.text('task id')) task.hasNoId = true
      const status = row.text('status')
      if (status !== '') draft.isCompleted = status !== '0'
      const labels = [row.text('kind') === 'NOTE' ? 'Note' : [], status === '-1' ? 'Abandoned' : []].flat()
      task.labels = [...(task.labels ?? []), ...labels]
      if (row.text('is check list') === 'Y') finishChecklist(draft)
      // The time of an all-day task is midnight in its time zone.
      const zone = dates.zoneOf(row.text('timezone') || 'UTC')
      if (row.text('is all day') === 'true' && task.dueDate?.includes('T'))
        task.dueDate = DateTime.fromISO(task.dueDate, { zone }).toISODate() ?? task.dueDate
    },
  }
})

/** Some backups number their tasks 1, 2, 3 …. The next backup may number them differently, so a number is no key. */
function keyOf(row: Row, keys: DigestKeys): string {
  const id = row.text('task id')
  if (id !== '' && !/^\d{1,9}$/.test(id)) return id
  return keys.next(row.text('created time'), oneLine(row.text('title')))
}

/** The items of a checklist begin with ▫, or with ▪ if they are complete. */
function finishChecklist({ task, parts }: Draft): void {
  const [text = '', ...items] = (task.description ?? '').split(/(?=[▫▪])/u)
  for (const item of items) {
    const title = item.slice(1).trim()
    if (title !== '') parts.push({ kind: 'subtask', title, completed: item.startsWith('▪') })
  }
  if (items.length > 0) task.description = text.trim()
  if (task.description === '') delete task.description
}
