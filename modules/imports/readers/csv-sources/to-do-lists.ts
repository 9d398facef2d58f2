import { DigestKeys } from '../../convert/keys.ts'
import { cut } from '../../convert/texts.ts'
import type { CommentItem } from '../../items.ts'
import { parseObject } from '../json-file.ts'
import { addNote, csvReader, type Draft } from '../csv/csv-reader.ts'
import type { Row } from '../csv/rows.ts'
import { oneLine, subtasksOf } from '../csv/values.ts'
import words from '../../words.json' with { type: 'json' }

const maxIndent = 10
const maxMessageCharacters = 500

/** Reads a project exported as a template, or a file of a backup. */
export const readTodoist = csvReader((file) => {
  const keys = new DigestKeys()
  let section: string | undefined
  /** The latest task of the section after its ancestors, outermost first. */
  let parents: { indent: number; title: string; key: string }[] = []
  let latest: string | undefined
  /** Adds a line about a row that is not a task to the report. */
  const report = ({ number }: Row, message: string) =>
    file.report(`Row ${number}: ${message}`.slice(0, maxMessageCharacters))

  function finishTask(draft: Draft, row: Row): void {
    const { task } = draft
    const { title, labels } = withoutLabels(task.title)
    const written = row.text('indent')
    if (Number.isNaN(Number(written))) addNote(draft, 'INDENT', written)
    const indent = Math.min(Math.round(Number(written)) || 1, maxIndent)
    parents = parents.filter((one) => one.indent < indent)
    const key = keys.next([section ?? '', ...parents.map((one) => one.title)], oneLine(title))
    Object.assign(task, { title, key, hasNoId: true, parent: parents.at(-1)?.key })
    task.labels = [...(task.labels ?? []), ...labels]
    parents.push({ indent, title, key })
    latest = key
    draft.section = section
    const duration = row.text('duration')
    if (duration)
      task.fields = { ...task.fields, duration: `${duration} ${row.text('duration unit')}`.trim() }
  }

  return {
    columns: words.columns.todoist,
    priorities: { '1': 'HIGH', '2': 'MEDIUM', '3': 'LOW', '4': 'NONE' },
    finish(draft, row) {
      const { author, assignee, title, description, notes, messages } = draft.task
      // `Ada (48151623)` is the person Ada.
      for (const person of [author, assignee]) if (person) person.name = person.name.replace(/ \(\d+\)$/, '')
      const type = row.text('type').toLowerCase()
      if (type === 'task') return finishTask(draft, row)
      for (const line of [...notes, ...messages]) report(row, line)
      if (type === 'section') {
        ;[section, parents] = [title, []]
        if (description) report(row, `The description of the section was not imported: ${description}`)
      }
      if (type === 'note' && latest) return [commentOf(draft, row, latest)]
      const content = row.text('content')
      if (type === 'note') report(row, `The comment on the whole project was not imported: ${content}`)
      return []
    },
  }
})

/** Todoist writes labels into the title: `Repot the basil @garden @weekend`. */
function withoutLabels(title: string): { title: string; labels: string[] } {
  const labels = [...title.matchAll(/(?<=^|\s)@(\S+)/g)].map(([, label]) => label!)
  const rest = title.replace(/(^|(?<!\s)\s+)@\S+/g, '').trim()
  return rest === '' ? { title, labels: [] } : { title: rest, labels }
}

function commentOf({ task: { author, dueDate } }: Draft, row: Row, task: string): CommentItem {
  const { text, name } = withoutFile(row.text('content'))
  const message = `The file "${cut(name ?? '', 100)}" was not imported, only its name and address`
  const messages = name === undefined ? undefined : [message]
  return { kind: 'comment', row: row.number, task, text, author, createdAt: dueDate, messages }
}

/** A comment with a file ends with `[[file {"file_name":"plan.pdf","file_url":"https://…"}]]`. */
function withoutFile(content: string): { text: string; name?: string } {
  const [start, end] = [content.indexOf('[[file {'), content.lastIndexOf('}]]')]
  const given = start < 0 ? undefined : parseObject(content.slice(start + '[[file '.length, end + 1))
  if (!given) return { text: content }
  const [name, url] = [given.file_name, given.file_url].map((one) => (typeof one === 'string' ? one : ''))
  const line = `Attachment: ${name}${name && url ? ` (${url})` : url}`
  const texts = [content.slice(0, start), content.slice(end + 3), line].map((one) => one.trim())
  return { text: texts.filter((one) => one !== '').join('\n'), name: name || url || 'without a name' }
}

/** Reads the backup of TickTick. Above its header are lines about the file. */
export const readTickTick = csvReader(() => {
  // Some backups number their tasks 1, 2, 3 …. The next backup may number them differently, so a number is no key.
  const idOf = (row: Row) => row.text('task id').replace(/^\d{1,9}$/, '')
  return {
    ...{ columns: words.columns.ticktick, nameOfTask: 'task id' },
    priorities: { '0': 'NONE', '1': 'LOW', '3': 'MEDIUM', '5': 'HIGH' },
    keyOf: (row, title, keys) => idOf(row) || keys.next(row.text('created time'), title),
    finish(draft, row) {
      const { task, parts } = draft
      task.key = idOf(row)
      const status = row.text('status')
      if (status !== '') draft.isCompleted = status !== '0'
      const labels = [row.text('kind') === 'NOTE' ? 'Note' : [], status === '-1' ? 'Abandoned' : []].flat()
      task.labels = [...(task.labels ?? []), ...labels]
      if (row.text('is check list') !== 'Y' || task.description === undefined) return
      // The items of a checklist begin with ▫, or with ▪ if they are complete.
      const [text = '', ...items] = task.description.split(/(?=[▫▪])/u)
      for (const subtask of items.flatMap(subtasksOf)) parts.push({ kind: 'subtask', ...subtask })
      task.description = text.trim() || undefined
    },
  }
})
