import { DigestKeys } from '../../convert/keys.ts'
import type { CommentItem, ImportedItem, ImportedPerson } from '../../items.ts'
import { parseObject } from '../../parse-object.ts'
import { addNote, type Draft } from '../csv/cells.ts'
import { csvReader, type SourceContext, type SourceRows } from '../csv/csv-reader.ts'
import { notImported } from '../csv/headers.ts'
import type { Row } from '../csv/rows.ts'
import { oneLine, short } from '../csv/values.ts'

/** Reads a Todoist project exported as a template, or a file of a Todoist backup. */
export const readTodoist = csvReader(() => ({
  columns: {
    ...notImported('type,indent,date lang,timezone,duration,duration unit,deadline lang'),
    ...{ content: 'title', date: 'dueDate', deadline: 'field.deadline' },
  },
  zone: 'timezone',
  priorities: { '1': 'HIGH', '2': 'MEDIUM', '3': 'LOW', '4': undefined },
  read: (context) => new TodoistRows(context),
}))

const maxIndent = 10
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

  constructor(private readonly context: SourceContext) {}

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
    if (this.section) draft.section = this.section
    const duration = `${row.text('duration')} ${row.text('duration unit')}`.trim()
    if (row.text('duration')) task.fields = { ...task.fields, duration }
  }

  private commentOf({ task }: Draft, row: Row): ImportedItem[] {
    const { text, files } = withoutFile(row.text('content'))
    const latest = this.parents.at(-1)
    if (!latest) {
      this.report(row, `The comment on the whole project was not imported: ${text}`)
      return []
    }
    const comment: CommentItem = { kind: 'comment', row: row.number, task: latest.key, text }
    if (task.author) comment.author = task.author
    if (task.dueDate) comment.createdAt = task.dueDate
    if (files.length > 0)
      comment.messages = files.map(
        (name) => `The file "${short(name)}" was not imported, only its name and address`,
      )
    return [comment]
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
