import { DigestKeys } from '../../convert/keys.ts'
import type { CommentItem, ImportedItem, ImportedPerson } from '../../items.ts'
import { parseObject } from '../../parse-object.ts'
import { addNote, type Draft } from '../csv/cells.ts'
import { notImported } from '../csv/columns.ts'
import { csvReader, type SourceRows } from '../csv/csv-reader.ts'
import type { Row } from '../csv/rows.ts'
import { oneLine, short } from '../csv/values.ts'

/** Reads a Todoist project exported as a template, or a file of a Todoist backup. */
export const readTodoist = csvReader({
  columns: {
    ...notImported('type,indent,date lang,timezone,duration,duration unit,deadline lang'),
    ...{ content: 'title', description: 'description', priority: 'priority', author: 'author' },
    ...{ responsible: 'assignee', date: 'dueDate', deadline: 'field.deadline', labels: 'labels' },
  },
  reads: ['type', 'indent', 'timezone', 'duration', 'duration unit'],
  zone: 'timezone',
  priorities: { '1': 'HIGH', '2': 'MEDIUM', '3': 'LOW', '4': undefined },
  read: () => new TodoistRows(),
})

const maxIndent = 10
/** The most messages between two tasks. */
const maxPending = 1_000
const maxMessageCharacters = 500

interface Ancestor {
  indent: number
  title: string
  key: string
}

class TodoistRows implements SourceRows {
  private readonly keys = new DigestKeys()
  private section?: string
  /** The latest task after its ancestors, outermost first. */
  private parents: Ancestor[] = []
  private latest?: string
  /** Messages for the report of the next task. */
  private readonly pending: string[] = []

  finish(draft: Draft, row: Row): boolean {
    const type = row.text('type').toLowerCase()
    if (type === 'section') {
      this.section = draft.task.title
      this.parents = []
      const description = row.text('description')
      if (description) this.report(`The description of the section was not imported: ${description}`)
    }
    if (type === 'task') this.finishTask(draft, row)
    else for (const line of [...draft.notes, ...draft.messages]) this.report(`Row ${row.number}: ${line}`)
    return type === 'task'
  }

  otherItems({ task }: Draft, row: Row): ImportedItem[] {
    if (row.text('type').toLowerCase() !== 'note') return []
    const { text, files } = withoutFile(row.text('content'))
    if (!this.latest) {
      this.report(`The comment on the whole project was not imported: ${text}`)
      return []
    }
    const author = task.author && withoutId(task.author)
    const comment: CommentItem = { kind: 'comment', row: row.number, task: this.latest, text }
    const messages = files.map(
      (name) => `The file "${short(name)}" was not imported, only its name and address`,
    )
    return [
      {
        ...{ ...comment, ...(author && { author }), ...(task.dueDate && { createdAt: task.dueDate }) },
        ...(messages.length > 0 && { messages }),
      },
    ]
  }

  private report(message: string): void {
    if (this.pending.length === maxPending) return
    const isLast = this.pending.length === maxPending - 1
    this.pending.push(isLast ? 'Further rows are not reported' : message.slice(0, maxMessageCharacters))
  }

  /** Returns the messages after the last task. */
  end(): string[] {
    return this.pending
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
    if (task.author) task.author = withoutId(task.author)
    if (task.assignee) task.assignee = withoutId(task.assignee)
    const duration = row.text('duration')
    if (duration)
      task.fields = { ...task.fields, duration: `${duration} ${row.text('duration unit')}`.trim() }
    draft.messages.push(...this.pending.splice(0))
  }
}

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
