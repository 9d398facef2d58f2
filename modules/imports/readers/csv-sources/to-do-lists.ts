import { DateTime } from 'luxon'
import { DigestKeys, shortKey } from '../../convert/keys.ts'
import type { CommentItem, ImportedItem, ImportedPerson } from '../../items.ts'
import { parseObject } from '../../parse-object.ts'
import { addNote, type Draft } from '../csv/cells.ts'
import { type CsvFormat, csvReader, type FileContext } from '../csv/csv-reader.ts'
import { notImported } from '../csv/headers.ts'
import type { Row } from '../csv/rows.ts'
import { oneLine, short } from '../csv/values.ts'
import { KeyMap } from '../key-map.ts'

const maxIndent = 10
const maxMessageCharacters = 500

interface Ancestor {
  indent: number
  title: string
  key: string
}

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
  private parents: Ancestor[] = []
  private latest?: string

  constructor(private readonly context: FileContext) {}

  finish(draft: Draft, row: Row): ImportedItem[] | void {
    const type = row.text('type').toLowerCase()
    const { task } = draft
    if (task.author) task.author = withoutId(task.author)
    if (task.assignee) task.assignee = withoutId(task.assignee)
    if (type === 'task') return this.finishTask(draft, row)
    for (const line of [...draft.notes, ...draft.messages]) this.report(row, line)
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
    if (labels.length > 0) task.labels = [...(task.labels ?? []), ...labels]
    task.title = title
    if (Number.isNaN(Number(row.text('indent')))) addNote(draft, 'INDENT', row.text('indent'))
    const indent = Math.min(Math.round(Number(row.text('indent'))) || 1, maxIndent)
    while (this.parents.length > 0 && this.parents.at(-1)!.indent >= indent) this.parents.pop()
    const path = [this.section ?? '', ...this.parents.map((parent) => parent.title)]
    task.key = this.keys.next(path, oneLine(title))
    task.hasNoId = true
    const parent = this.parents.at(-1)?.key
    if (parent) task.parent = parent
    this.parents.push({ indent, title, key: task.key })
    this.latest = task.key
    if (this.section) draft.section = this.section
    const duration = `${row.text('duration')} ${row.text('duration unit')}`.trim()
    if (row.text('duration')) task.fields = { ...task.fields, duration }
  }

  private commentOf({ task }: Draft, row: Row): ImportedItem[] {
    const { text, files } = withoutFile(row.text('content'))
    if (!this.latest) {
      this.report(row, `The comment on the whole project was not imported: ${text}`)
      return []
    }
    const comment: CommentItem = { kind: 'comment', row: row.number, task: this.latest, text }
    if (task.author) comment.author = task.author
    if (task.dueDate) comment.createdAt = task.dueDate
    if (files.length > 0)
      comment.messages = files.map(
        (name) => `The file "${short(name)}" was not imported, only its name and address`,
      )
    return [comment]
  }
}

export const readTodoist = csvReader((context) => new TodoistFormat(context))

/** Todoist writes labels into the title: `Repot the basil @garden @weekend`. */
export function withoutLabels(title: string): { title: string; labels: string[] } {
  const labels = [...title.matchAll(/(?<=^|\s)@(\S+)/g)].map(([, label]) => label!)
  const rest = title.replace(/(^|(?<!\s)\s+)@\S+/g, '').trim()
  return rest === '' ? { title, labels: [] } : { title: rest, labels }
}

/** `Ada (48151623)` is the person Ada. */
const withoutId = (person: ImportedPerson): ImportedPerson => ({
  ...person,
  name: person.name.replace(/ \(\d+\)$/, ''),
})

/** A comment with a file ends with `[[file {"file_name":"plan.pdf","file_url":"https://…"}]]`. */
function withoutFile(content: string): { text: string; files: string[] } {
  const start = content.indexOf('[[file {')
  const end = content.lastIndexOf('}]]')
  const file =
    start < 0 || end < start ? undefined : parseObject(content.slice(start + '[[file '.length, end + 1))
  if (!file) return { text: content, files: [] }
  const [name, url] = [file.file_name, file.file_url].map((value) => (typeof value === 'string' ? value : ''))
  const address = name && url ? ` (${url})` : url
  const line = `Attachment: ${name}${address}`
  const texts = [content.slice(0, start), content.slice(end + 3), line].map((one) => one.trim())
  return { text: texts.filter((one) => one !== '').join('\n'), files: [name || url || 'without a name'] }
}

/** Reads the backup of TickTick. Above its header are lines about the file. */
export const readTickTick = csvReader(({ dates }) => {
  const [keys, scannedKeys] = [new DigestKeys(), new DigestKeys()]
  const keysById = new KeyMap<string>()
  return {
    columns: {
      ...notImported(`kind,is check list,status,timezone,is all day,task id,parent id,order,is floating,column order,
        view mode,project kind`),
      ...{ 'folder name': 'field.folder', reminder: 'field.reminder', 'column name': 'status' },
    },
    zone: 'timezone',
    priorities: { '0': undefined, '1': 'LOW', '3': 'MEDIUM', '5': 'HIGH' },
    scan: (row) => keysById.set(row.text('task id'), shortKey(keyOf(row, scannedKeys))),
    finish(draft, row) {
      const { task } = draft
      task.key = keyOf(row, keys)
      if (task.key !== row.text('task id')) task.hasNoId = true
      const parent = row.text('parent id')
      if (parent !== '') task.parent = keysById.get(parent) ?? parent
      const status = row.text('status')
      if (status !== '') draft.isCompleted = status !== '0'
      if (row.text('kind') === 'NOTE') task.labels = [...(task.labels ?? []), 'Note']
      if (status === '-1') task.labels = [...(task.labels ?? []), 'Abandoned']
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
function finishChecklist({ task, subtasks }: Draft): void {
  const [text = '', ...items] = (task.description ?? '').split(/(?=[▫▪])/u)
  for (const item of items) {
    const title = item.slice(1).trim()
    if (title !== '') subtasks.push({ title, completed: item.startsWith('▪') })
  }
  if (items.length > 0) task.description = text.trim()
  if (task.description === '') delete task.description
}
