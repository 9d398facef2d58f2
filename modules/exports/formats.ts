import type { TaskRow } from '../../drizzle/rows.ts'
import { shownRow, type WithPerson } from '../../src/log/rows-at.ts'
import type { EntityDefinition } from '../../src/model/definition.ts'
import type { ChildOfTask } from '../../src/model/entities.ts'
import { model } from '../../src/model/model.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'
import type { FindPerson } from '../../src/reads/people.ts'
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
import { childRows, type ExportedProject, type ShownTask, shownTasks, taskRows } from './project.ts'

type Shown = Record<string, unknown>
type Child = EntityDefinition<ChildOfTask>

/** The person who created a row. Files show the email address only while the account is a member of the project. */
type Author = { id: string; name: string } | null

/** Returns the texts of a file. Children are written one by one, because a list may be long. */
interface Writer {
  begin?: string
  /** Returns the texts before and after the children of a task. */
  task(shown: ShownTask, author: Author): [before: string, after: string]
  /** Returns the texts before and after the children of one entity. */
  list?(child: Child): [open: string, close: string]
  child(child: Child, shown: Shown, isFirst: boolean): string
  event?(shown: object): string
  end?(): string
}

interface Format {
  contentType: string
  extension: string
  open(exported: ExportedProject): Writer
}

/** Returns a task as files show it: also with people, and with the names of labels. */
function recordOf(shown: Partial<ShownTask>, { labels, people }: ExportedProject): Shown {
  const record: Shown = { ...shown }
  for (const [name, field] of namedFields) {
    const value = shown[name]
    record[headerOf(name, field)] = Array.isArray(value)
      ? value.map((id) => labels.get(id)!)
      : (people.get((value ?? '') as string) ?? null)
  }
  return record
}

/** A task for each line, as `GET /tasks/{id}` shows it, with lists of its children. */
const ndjson: Format = {
  contentType: 'application/x-ndjson',
  extension: 'ndjson',
  open: () => ({
    task: (shown) => [JSON.stringify(shown).slice(0, -1), '}\n'],
    list: ({ plural }) => [`,${JSON.stringify(plural)}:[`, ']'],
    child: (_, shown, isFirst) => (isFirst ? '' : ',') + JSON.stringify(shown),
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
  open(exported) {
    const { project, parts, version, exportedAt } = exported
    let lines = 0
    const line = (row: object) => `${++lines && JSON.stringify(row)}\n`
    return {
      begin:
        line({ docket: docketFormat, project, version, exportedAt }) +
        parts.map(({ name, shown }) => line({ kind: name, ...shown })).join(''),
      task({ importedAuthor, ...shown }, author) {
        const record = lineValues(recordOf(shown, exported))
        const externalId = shown.externalId ?? `docket:${shown.id}`
        return [line({ kind: 'task', ...record, externalId, author: authorOf(importedAuthor, author) }), '']
      },
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

/** The names in a record by the headers of their columns, where they differ. */
const names = new Map(
  taskFields.flatMap((one) => (namedFields.includes(one) ? [] : [[headerOf(...one), one[0]]])),
)
const headers = taskFields.map((one) => headerOf(...one))
/** The columns of a task. Those of its children and of custom fields follow. */
const columns = [...csvColumns.slice(0, -2), ...headers.filter((header) => !csvColumns.includes(header))]
const namesInColumns = columns.map((header) => names.get(header) ?? header)

/** A task for each row, for spreadsheets. */
const csv: Format = {
  contentType: 'text/csv; charset=utf-8',
  extension: 'csv',
  open(exported) {
    const { fieldKeys, people } = exported
    const lists = model().ofTask.map(({ plural }) => plural)
    const personOf = (id: unknown) => people.get(String(id))
    return {
      // A byte order mark, without which some spreadsheets expect another encoding than UTF-8.
      begin: `\ufeff${[...columns, ...lists, ...fieldKeys.map((key) => fieldPrefix + key)].join()}${lineEnd}`,
      task(shown, author) {
        const record: Shown = recordOf(shown, exported)
        record.author = (author && personOf(author.id)) ?? author
        const custom = fieldKeys.map((key) => `,${cell(shown.fields[key])}`)
        return [namesInColumns.map((name) => cell(record[name])).join(), custom.join('') + lineEnd]
      },
      list: () => [',"', '"'],
      child(child, shown, isFirst) {
        const text = child.asChild!.cell?.(shown as never, personOf) ?? childCell(child, shown, personOf)
        return (isFirst ? escapeFormula(text) : `\n${text}`).replaceAll('"', '""')
      },
    }
  },
}

export const formats = { docket, ndjson, csv }

/** Rows are collected into texts of at least this length. */
const textCharacters = 65_536
/** With the longest texts, a page takes 4 MB. An export of 200,000 rows lets a process grow by 82 to 97 MiB, with pages of 200 rows by 86 to 101 (measured). */
const pageRows = 50

export type EventTexts = (
  exported: ExportedProject,
  textOf: (shown: object) => string,
) => AsyncGenerator<string, void, void>

/** Yields the texts of a file with the project. Only some pages of rows are in memory. */
export async function* projectTexts(
  exported: ExportedProject,
  { format, history, findPerson }: { format: Format; history?: EventTexts | false; findPerson: FindPerson },
): AsyncGenerator<string, void, void> {
  const writer = format.open(exported)
  if (writer.begin) yield writer.begin
  yield* taskTexts(exported, writer, findPerson)
  if (history && writer.event) yield* history(exported, writer.event)
  if (writer.end) yield writer.end()
}

type AuthoredRow = TaskRow & { authorId: string | null; authorName: string }
type ChildRow = WithPerson & { taskId: string }

/** Merges tasks and their children. All lists of children have the order of the tasks. */
async function* taskTexts(exported: ExportedProject, writer: Writer, findPerson: FindPerson) {
  const { sql } = exported
  const tasks = rowsOf(sql, 'tasks', taskRows(exported), async (rows: AuthoredRow[]) => {
    const shown = await shownTasks(exported, rows, findPerson)
    const authors = rows.map(({ authorId: id, authorName: name }) => (id === null ? null : { id, name }))
    return shown.map((task, n) => ({ task, author: authors[n]! }))
  })
  const lists = model().ofTask.map((child) => {
    const rows = rowsOf(sql, child.plural, childRows(exported, child), (all: ChildRow[]) => all)
    const [open, close] = writer.list?.(child) ?? ['', '']
    return { child, open, close, rows, current: undefined as ChildRow | undefined }
  })
  const moveOn = async (list: (typeof lists)[number]) => {
    list.current = (await list.rows.next()).value ?? undefined
  }
  await Promise.all(lists.map(moveOn))
  let text = ''
  for await (const { task, author } of tasks) {
    const [before, after] = writer.task(task, author)
    text += before
    for (const list of lists) {
      text += list.open
      for (let isFirst = true; list.current?.taskId === task.id; isFirst = false) {
        text += writer.child(list.child, shownRow(list.child, list.current) as Shown, isFirst)
        await moveOn(list)
        if (text.length < textCharacters) continue
        yield text
        text = ''
      }
      text += list.close
    }
    text += after
    if (text.length < textCharacters) continue
    yield text
    text = ''
  }
  yield text
  for (const { child, current } of lists)
    if (current) throw new Error(`A ${child.name} of an export has no task`)
}

/** Reads pages of rows: Postgres computes the next page while this process uses the current page. */
async function* rowsOf<Stored extends object, Row>(
  sql: Sql,
  name: string,
  query: SqlPart,
  prepare: (rows: Stored[]) => Promise<Row[]> | Row[],
): AsyncGenerator<Row, void, void> {
  const fetchPage = () => {
    const page = sql.unsafe<Stored[]>(`fetch ${pageRows} from "${name}"`).execute()
    // Prevents an unhandled rejection: the await below throws the same error later.
    page.catch(() => {})
    return page
  }
  await unprepared(sql`declare ${sql(name)} no scroll cursor for ${query}`)
  for (let next = fetchPage(); ;) {
    const page = await next
    if (page.length === 0) return
    next = fetchPage()
    for (const row of await prepare(page)) yield row
  }
}
