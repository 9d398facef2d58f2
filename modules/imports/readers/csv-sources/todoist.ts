import type { CommentItem, ImportedItem } from '../../items.ts'
import { DigestKeys } from '../../convert/keys.ts'
import type { KnownColumns } from '../csv/columns/columns.ts'
import { csvReader } from '../csv/csv-reader.ts'
import { addNote, type Draft } from '../csv/drafts.ts'
import type { Row } from '../csv/row.ts'
import type { SourceRows } from '../csv/source.ts'
import { oneLine } from '../csv/values.ts'
import { withoutId, withoutLabels } from './todoist-text.ts'

const columns: KnownColumns = {
  type: null,
  content: 'title',
  description: 'description',
  priority: 'priority',
  indent: null,
  author: 'author',
  responsible: 'assignee',
  date: 'dueDate',
  'date lang': null,
  timezone: null,
  duration: null,
  'duration unit': null,
  deadline: 'field.deadline',
  'deadline lang': null,
  labels: 'labels',
}

/** Reads a Todoist project exported as a template, or a file of a Todoist backup. */
export const readTodoist = csvReader({
  columns,
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
    const text = row.text('content')
    if (!this.latest) {
      this.report(`The comment on the whole project was not imported: ${text}`)
      return []
    }
    const author = task.author && withoutId(task.author)
    const comment: CommentItem = { kind: 'comment', row: row.number, task: this.latest, text }
    return [{ ...comment, ...(author && { author }), ...(task.dueDate && { createdAt: task.dueDate }) }]
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
