import { readPerson } from '../../../exports/cells.ts'
import { shortKey } from '../../convert/keys.ts'
import { maxMappedCharacters, statusOf } from '../../convert/names.ts'
import { ImportError, type TaskItem } from '../../items.ts'
import { valueFor } from '../../mapping.ts'
import type { Comment } from '../csv/cells.ts'
import { csvReader } from '../csv/csv-reader.ts'
import { KeyMap, maxLinks } from '../key-map.ts'
import words from '../../words.json' with { type: 'json' }

const maxStatuses = 1_000
const maxPeople = 20_000

const isSubtask = (type: string): boolean =>
  /^(sub[- ]?(task|tarea|tarefa|aufgabe)|unteraufgabe|teilaufgabe|sous[- ]t[âa]che|podzadanie|zadanie podrzędne)/i.test(
    type.normalize(),
  )

/** Reads the CSV export of a search. A parent is given by its issue id. Either issue of a link may list it. */
export const readJira = csvReader(({ mapping }) => {
  const blockers = new KeyMap<string[]>()
  let links = 0
  const statuses = new Map<string, NonNullable<TaskItem['status']>>()
  /** The names of people by the ids of their accounts. */
  const people = new KeyMap<string>()
  /** Replaces mentions of people such as `[~accountid:5b10ac8d]` by their names, if the file has the names. */
  const withNames = (text: string) =>
    text.replace(/\[~(?:accountid:)?([^\][\s]{1,200})\]/gi, (whole, id: string) => {
      const name = people.get(id)
      return name === undefined ? whole : `@${name}`
    })
  return {
    columns: words.columns.jira,
    scan(row) {
      const key = shortKey(row.text('issue key'))
      for (const blocked of row.texts('outward issue link blocks')) {
        if (++links > maxLinks)
          throw new ImportError(
            `The file has more than ${maxLinks.toLocaleString('en')} links between issues`,
          )
        const known = blockers.get(blocked)
        if (known) known.push(key)
        else blockers.set(blocked, [key])
      }
      // Columns of people, each with a column of ids. Watchers are repeated.
      for (const person of ['assignee', 'reporter', 'creator', 'watchers']) {
        const accounts = row.texts(`${person} id`)
        const names = accounts.length > 0 ? row.texts(person) : []
        for (const [n, account] of accounts.entries())
          if (names[n] && people.size < maxPeople) people.set(account, names[n].slice(0, 500))
      }
    },
    finish({ task, parts }, row) {
      const { list = '', parent: reference } = task
      const status = statusOf(row.text('status category'), {})
      if (status && valueFor(mapping.statuses, list) == null) task.status = status
      if (status && list && list.length <= maxMappedCharacters && statuses.size < maxStatuses)
        statuses.set(list, status)
      task.blockedBy = [...new Set([...(task.blockedBy ?? []), ...(blockers.get(task.key) ?? [])])]
      // Only sub-tasks become sub-items of their parent. For other issues, the parent is the field `epic`.
      const parent = reference && (row.text('parent key') || reference)
      const type = row.text('issue type')
      task.parent = type === '' || isSubtask(type) ? parent : undefined
      if (parent && !task.parent) task.fields = { ...task.fields, epic: parent }
      if (task.description) task.description = withNames(task.description)
      for (const part of parts) {
        if (part.kind !== 'comment') continue
        const comment = part as Comment
        comment.text = withNames(comment.text)
        const name = comment.author && people.get(comment.author.name)
        if (name) comment.author = readPerson(name)
      }
    },
    proposal: () => ({ statuses: Object.fromEntries(statuses) }),
  }
})
