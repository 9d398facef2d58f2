import type { TaskRow } from '../../drizzle/rows.ts'
import type { EntityDefinition } from '../../src/model/definition.ts'
import type { ChildOfTask } from '../../src/model/entities.ts'
import { model } from '../../src/model/model.ts'
import type { User } from '../accounts/user.ts'
import { headerOf, namedFields, taskFields } from '../tasks/schema.ts'
import {
  childCell,
  type CellPerson,
  csvColumns,
  escapeFormula,
  fieldPrefix,
  lineValues,
  linesCell,
  personCell,
} from './cells.ts'
import type { ExportedProject, ProjectParts } from './project.ts'

/** A task as `GET /tasks/{id}` shows it. */
interface ShownTask extends Omit<TaskRow, 'labelIds' | 'blockedByIds' | 'fields'> {
  labelIds: string[]
  blockedByIds: string[]
  fields: Record<string, string | number | boolean>
}
type Shown = Record<string, unknown>

/** The address is known only while the account is a member of the project. */
type Author = Pick<User, 'id' | 'name'> & Partial<Pick<User, 'email'>>

export interface ExportedTask {
  shown: ShownTask
  author: Author | null
}
type Child = EntityDefinition<ChildOfTask>

/** Returns the texts of a file. Children are written one by one, because a list may be long. */
export interface Writer {
  begin(): string
  /** Returns the texts before and after the children of a task. */
  task(task: ExportedTask): [before: string, after: string]
  /** Returns the texts before, between and after the children of one entity. */
  list(child: Child): [open: string, separator: string, close: string]
  child(child: Child, shown: Shown, isFirst: boolean): string
  event?(shown: object): string
  end(): string
}

export interface Format {
  contentType: string
  extension: string
  /** True if tasks have an `author`. */
  hasAuthors: boolean
  open(exported: ExportedProject, parts: ProjectParts): Writer
}

/** Returns the people and the names of labels of a task, by the names of the fields in files. */
function namedIn(shown: ShownTask, { labels, people }: ProjectParts) {
  const named: Record<string, User | string[] | null> = {}
  for (const [name, field] of namedFields) {
    const value = shown[name]
    named[headerOf(name, field)] = Array.isArray(value)
      ? value.map((id) => labels.get(id)!)
      : (people.get((value ?? '') as string) ?? null)
  }
  return named
}

/** A task for each line, as `GET /tasks/{id}` shows it, with lists of its children. */
const ndjson: Format = {
  contentType: 'application/x-ndjson',
  extension: 'ndjson',
  hasAuthors: false,
  open: () => ({
    begin: () => '',
    task: ({ shown }) => [JSON.stringify(shown).slice(0, -1), '}\n'],
    list: ({ plural }) => [`,${JSON.stringify(plural)}:[`, ',', ']'],
    child: (_, shown) => JSON.stringify(shown),
    end: () => '',
  }),
}

/** The version of the format, in the first line. It changes when an earlier release cannot read the new files. */
export const docketFormat = 1

/**
 * An imported author has only a name. The author is unknown if the account was deleted, or if the log no longer has the
 * event that created the row.
 */
const authorOf = (importedAuthor: unknown, author: unknown) =>
  importedAuthor ? { name: importedAuthor } : (author ?? { name: 'Unknown' })

/** All rows of a project, a line for each, with the fields of responses. Imported rows are equal to exported rows. */
const docket: Format = {
  contentType: 'application/x-ndjson',
  extension: 'docket.ndjson',
  hasAuthors: true,
  open({ version, exportedAt }, all) {
    const { project, parts } = all
    let lines = 0
    const line = (row: object) => `${++lines && JSON.stringify(row)}\n`
    return {
      begin: () =>
        line({ docket: docketFormat, project, version, exportedAt }) +
        parts.map(({ name, shown }) => line({ kind: name, ...shown })).join(''),
      task({ shown: { importedAuthor, ...shown }, author }) {
        const externalId = shown.externalId ?? `docket:${shown.id}`
        const named = { ...namedIn(shown, all), author: authorOf(importedAuthor, author) }
        return [line({ kind: 'task', ...lineValues(shown), externalId, ...named }), '']
      },
      list: () => ['', '', ''],
      child({ name: kind }, shown) {
        if (!('authorId' in shown)) return line({ kind, ...lineValues(shown) })
        const { authorId: _, authorRemoved: __, importedAuthor, author, ...child } = shown
        return line({ kind, ...lineValues(child), author: authorOf(importedAuthor, author) })
      },
      event: (shown) => line({ kind: 'event', ...shown }),
      end: () => line({ kind: 'end', lines: lines + 1 }),
    }
  },
}

const lineEnd = '\r\n'

/** RFC 4180. */
const quoted = (text: string): string =>
  /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

/** Ids and names are one per line. */
function cell(value: unknown): string {
  if (value == null) return ''
  if (Array.isArray(value)) return quoted(escapeFormula(linesCell(value as string[])))
  if (typeof value === 'object') return quoted(escapeFormula(personCell(value as CellPerson)))
  return typeof value === 'string' ? quoted(escapeFormula(value)) : String(value)
}

const headers = taskFields.map((one) => headerOf(...one))
/** The columns of a task. Those of its children and of custom fields follow. */
const columns = [...csvColumns.slice(0, -2), ...headers.filter((header) => !csvColumns.includes(header))]
/** The fields that show ids, in a column whose header differs from the name of the field. */
const renamed = taskFields.filter((one) => headerOf(...one) !== one[0] && !namedFields.includes(one))

/** A task for each row, for spreadsheets. */
const csv: Format = {
  contentType: 'text/csv; charset=utf-8',
  extension: 'csv',
  hasAuthors: true,
  open(_, parts) {
    const { fields, people } = parts
    const lists = model().ofTask.map(({ plural }) => plural)
    const personOf = (id: unknown) => people.get(String(id))
    return {
      // A byte order mark, without which some spreadsheets expect another encoding than UTF-8.
      begin: () =>
        `\ufeff${[...columns, ...lists, ...fields.map(({ key }) => fieldPrefix + key)].join()}${lineEnd}`,
      task({ shown, author }) {
        const known = author && (people.get(author.id) ?? author)
        const values: Shown = { ...shown, ...namedIn(shown, parts), author: known }
        for (const [name, field] of renamed) values[headerOf(name, field)] = shown[name]
        const custom = fields.map(({ key }) => `,${cell(shown.fields[key])}`)
        return [columns.map((header) => cell(values[header])).join(), custom.join('') + lineEnd]
      },
      list: () => [',"', '\n', '"'],
      child(child, shown, isFirst) {
        const { asChild, person } = child
        const member = person && personOf(shown[person])
        const author = shown.importedAuthor
          ? { name: shown.importedAuthor }
          : (member ?? shown.author ?? null)
        const text =
          asChild!.cell?.(shown as never, personOf) ?? childCell(child, shown, author as CellPerson | null)
        return (isFirst ? escapeFormula(text) : text).replaceAll('"', '""')
      },
      end: () => '',
    }
  },
}

export const formats = { docket, ndjson, csv }
