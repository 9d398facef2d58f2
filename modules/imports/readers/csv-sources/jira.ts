import { readPerson } from '../../../exports/cells.ts'
import { shortKey } from '../../convert/keys.ts'
import { maxMappedCharacters, statusOf } from '../../convert/names.ts'
import { ImportError, type TaskItem } from '../../items.ts'
import { valueFor } from '../../mapping.ts'
import { addNote, type Comment, type Draft } from '../csv/cells.ts'
import { isDate } from '../csv/dates.ts'
import { type CsvFormat, csvReader, type FileContext } from '../csv/csv-reader.ts'
import { notImported } from '../csv/headers.ts'
import type { Row } from '../csv/rows.ts'
import { unreadDate } from '../csv/values.ts'
import { maxLinks } from '../key-map.ts'
import { KeyMap } from '../key-map.ts'

const maxStatuses = 1_000
const maxPeople = 20_000
const outward = 'outward issue link blocks'
/** Columns of people, each with a column of ids. Watchers are repeated. */
const people = ['assignee', 'reporter', 'creator', 'watchers']

const isSubtask = (type: string): boolean =>
  /^(sub[- ]?(task|tarea|tarefa|aufgabe)|unteraufgabe|teilaufgabe|sous[- ]t[âa]che|podzadanie|zadanie podrzędne)/i.test(
    type.normalize(),
  )

/** The CSV export of a search. A parent is given by its issue id. Either issue of a link may list it. */
class JiraFormat implements CsvFormat {
  readonly columns = {
    ...notImported(`issue id,project key,project name,project type,project lead,project lead id,project description,
      project url,assignee id,reporter id,creator id,watchers id,watchers,votes,updated,last viewed,work ratio,
      status category,status category changed,parent summary,outward issue link blocks,custom field rank,
      custom field development`),
    ...{ 'parent id': 'parent', 'parent key': 'parent', principal: 'parent', parent: 'parent' },
    ...{ 'inward issue link blocks': 'blockedBy', attachment: 'notes', 'log work': 'notes' },
    ...{ 'custom field epic link': 'field.epic', resolved: 'field.resolved', done: 'field.resolved' },
  }
  private readonly blockers = new KeyMap<string[]>()
  private links = 0
  private readonly statuses = new Map<string, NonNullable<TaskItem['status']>>()
  /** The names of people by the ids of their accounts. */
  private readonly people = new KeyMap<string>()

  constructor(private readonly context: FileContext) {}

  nameOf(row: Row): [string, string] {
    return [row.text('issue id'), row.text('issue key')]
  }

  scan(row: Row): void {
    const key = shortKey(row.text('issue key'))
    for (const blocked of row.texts(outward)) {
      if (++this.links > maxLinks)
        throw new ImportError(`The file has more than ${maxLinks.toLocaleString('en')} links between issues`)
      const blockers = this.blockers.get(blocked) ?? []
      blockers.push(key)
      this.blockers.set(blocked, blockers)
    }
    const [name, status] = [row.text('status'), statusOf(row.text('status category'), {})]
    if (status && name.length <= maxMappedCharacters && this.statuses.size < maxStatuses)
      this.statuses.set(name, status)
    for (const person of people) {
      const accounts = row.texts(`${person} id`)
      const names = accounts.length > 0 ? row.texts(person) : []
      for (const [n, account] of accounts.entries())
        if (names[n] && this.people.size < maxPeople) this.people.set(account, names[n].slice(0, 500))
    }
  }

  proposal() {
    return { statuses: Object.fromEntries(this.statuses) }
  }

  finish(draft: Draft, row: Row): void {
    const { task } = draft
    const isGiven = valueFor(this.context.mapping.statuses, task.list ?? '') != null
    task.status = (isGiven ? undefined : this.statuses.get(task.list ?? '')) ?? task.status
    task.blockedBy = [...new Set([...(task.blockedBy ?? []), ...(this.blockers.get(task.key) ?? [])])]
    if (task.parent) this.finishParent(draft, row)
    if (task.description) task.description = this.withNames(task.description)
    draft.parts = draft.parts.map((part) =>
      part.kind === 'comment' ? this.commentOf(part as Comment, draft) : part,
    )
  }

  /** Only sub-tasks become sub-items of their parent. For other issues, the parent is the field `epic`. */
  private finishParent({ task }: Draft, row: Row): void {
    const parent = row.text('parent key') || task.parent!
    const type = row.text('issue type')
    const isPart = type === '' || isSubtask(type)
    task.parent = isPart ? parent : undefined
    if (!isPart) task.fields = { ...task.fields, epic: parent }
  }

  /** Replaces mentions of people such as `[~accountid:5b10ac8d]` by their names, if the file has the names. */
  private withNames = (text: string): string =>
    text.replace(/\[~(?:accountid:)?([^\][\s]{1,200})\]/gi, (whole, id: string) => {
      const name = this.people.get(id)
      return name === undefined ? whole : `@${name}`
    })

  /** Reads `14/Mar/26 2:15 PM;Ada;The text`. Adds an ambiguous date to the foot of the description. */
  private commentOf(comment: Comment, draft: Draft): Comment {
    const parts = /^([^;\n]+);([^;\n]*);([\s\S]*)$/.exec(comment.text) ?? []
    const [date = '', name = '', text = ''] = parts.slice(1).map((part) => part.trim())
    const createdAt = this.context.dates.read(date)
    if (text === '' || (!createdAt && !isDate(date)))
      return { ...comment, text: this.withNames(comment.text) }
    if (!createdAt) addNote(draft, name ? `Comment of ${name}` : 'Comment', date, unreadDate(date))
    const author = readPerson(this.people.get(name) ?? name)
    return { ...comment, text: this.withNames(text), createdAt, author }
  }
}

export const readJira = csvReader((context) => new JiraFormat(context))
