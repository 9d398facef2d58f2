import type { TaskRow } from '../../drizzle/rows.ts'
import { shownRow, type WithPerson } from '../../src/log/rows-at.ts'
import type { EntityDefinition } from '../../src/model/definition.ts'
import type { ChildOfTask } from '../../src/model/entities.ts'
import { model } from '../../src/model/model.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'
import type { FindPerson } from '../../src/reads/people.ts'
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
import {
  childRows,
  type ExportedProject,
  type ExportedTask,
  exportedTasks,
  type ShownTask,
  taskRows,
} from './project.ts'

type Shown = Record<string, unknown>

type Child = EntityDefinition<ChildOfTask>

/** Returns the texts of a file. Children are written one by one, because a list may be long. */
export interface Writer {
  begin?(): string
  /** Returns the texts before and after the children of a task. */
  task(task: ExportedTask): [before: string, after: string]
  /** Returns the texts before and after the children of one entity. */
  list?(child: Child): [open: string, close: string]
  child(child: Child, shown: Shown, isFirst: boolean): string
  event?(shown: object): string
  end?(): string
}

export interface Format {
  contentType: string
  extension: string
  open(exported: ExportedProject): Writer
}

/** Returns the people and the names of labels of a task, by the names of the fields in files. */
function namedIn(shown: ShownTask, { labels, people }: ExportedProject) {
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
  open: () => ({
    task: ({ shown }) => [JSON.stringify(shown).slice(0, -1), '}\n'],
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
      begin: () =>
        line({ docket: docketFormat, project, version, exportedAt }) +
        parts.map(({ name, shown }) => line({ kind: name, ...shown })).join(''),
      task({ shown: { importedAuthor, ...shown }, author }) {
        const externalId = shown.externalId ?? `docket:${shown.id}`
        const named = { ...namedIn(shown, exported), author: authorOf(importedAuthor, author) }
        return [line({ kind: 'task', ...lineValues(shown), externalId, ...named }), '']
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

const headers = taskFields.map((one) => headerOf(...one))
/** The columns of a task. Those of its children and of custom fields follow. */
const columns = [...csvColumns.slice(0, -2), ...headers.filter((header) => !csvColumns.includes(header))]
/** The fields that show ids, in a column whose header differs from the name of the field. */
const renamed = taskFields.filter((one) => headerOf(...one) !== one[0] && !namedFields.includes(one))

/** A task for each row, for spreadsheets. */
const csv: Format = {
  contentType: 'text/csv; charset=utf-8',
  extension: 'csv',
  open(exported) {
    const { fields, people } = exported
    const lists = model().ofTask.map(({ plural }) => plural)
    const personOf = (id: unknown) => people.get(String(id))
    return {
      // A byte order mark, without which some spreadsheets expect another encoding than UTF-8.
      begin: () =>
        `\ufeff${[...columns, ...lists, ...fields.map(({ key }) => fieldPrefix + key)].join()}${lineEnd}`,
      task({ shown, author }) {
        const known = author && (people.get(author.id) ?? author)
        const values: Shown = { ...shown, ...namedIn(shown, exported), author: known }
        for (const [name, field] of renamed) values[headerOf(name, field)] = shown[name]
        const custom = fields.map(({ key }) => `,${cell(shown.fields[key])}`)
        return [columns.map((header) => cell(values[header])).join(), custom.join('') + lineEnd]
      },
      list: () => [',"', '"'],
      child(child, shown, isFirst) {
        const { asChild, person } = child
        const member = person && personOf(shown[person])
        const author = shown.importedAuthor
          ? { name: shown.importedAuthor }
          : (member ?? shown.author ?? null)
        const text =
          asChild!.cell?.(shown as never, personOf) ?? childCell(child, shown, author as CellPerson | null)
        return (isFirst ? escapeFormula(text) : `\n${text}`).replaceAll('"', '""')
      },
    }
  },
}

export const formats = { docket, ndjson, csv }

/** Rows are collected into texts of at least this length. */
const textCharacters = 65_536
/** With the longest texts, a page of rows takes 16 MB. */
const pageRows = 200

export type EventTexts = (
  exported: ExportedProject,
  textOf: (shown: object) => string,
) => AsyncGenerator<string, void, void>

interface Options {
  format: Format
  history?: EventTexts | false
  findPerson: FindPerson
}

/** Yields the texts of a file with the project. Only some pages of rows are in memory. */
export async function* projectTexts(
  exported: ExportedProject,
  { format, history, findPerson }: Options,
): AsyncGenerator<string, void, void> {
  const writer = format.open(exported)
  if (writer.begin) yield writer.begin()
  const { sql } = exported
  const shown = (rows: TaskRow[]) => exportedTasks(exported, rows, findPerson)
  const [tasks, ...children] = await Promise.all([
    openRows<TaskRow, ExportedTask>(sql, 'tasks', taskRows(exported), shown),
    ...model().ofTask.map((child) =>
      openRows<ShownChild, ShownChild>(sql, child.plural, childRows(exported, child), (rows) =>
        rows.map((row) => ({ taskId: row.taskId, shown: shownRow(child, row) as never })),
      ),
    ),
  ])
  yield* taskTexts(writer, tasks, children)
  if (history && writer.event) yield* history(exported, writer.event)
  if (writer.end) yield writer.end()
}

type ShownChild = WithPerson & { taskId: string; shown: Record<string, unknown> }

/** Merges tasks and their children. All lists of children have the order of the tasks. */
async function* taskTexts(writer: Writer, tasks: Rows<ExportedTask>, children: Rows<ShownChild>[]) {
  const lists = model().ofTask.map((child, n) => {
    return { child, rows: children[n]!, texts: writer.list?.(child) ?? ['', ''] }
  })
  let text = ''
  for (const { rows } of lists) await rows.next()
  while (await tasks.next()) {
    const task = tasks.current!
    const [before, after] = writer.task(task)
    text += before
    for (const { child, rows, texts } of lists) {
      text += texts[0]
      for (let isFirst = true; rows.current?.taskId === task.shown.id; isFirst = false) {
        text += writer.child(child, rows.current.shown, isFirst)
        await rows.next()
        if (text.length < textCharacters) continue
        yield text
        text = ''
      }
      text += texts[1]
    }
    text += after
    if (text.length < textCharacters) continue
    yield text
    text = ''
  }
  for (const { child, rows } of lists)
    if (rows.current) throw new Error(`A ${child.name} of an export has no task`)
  yield text
}

/** The rows of a query. `next` moves to the next row; after the last row, there is no current row. */
interface Rows<Row> {
  current: Row | undefined
  next(): Promise<Row | undefined>
}

/** Reads pages of rows: Postgres computes the next page while this process uses the current page. */
async function openRows<Stored extends object, Row>(
  sql: Sql,
  name: string,
  query: SqlPart,
  prepare: (rows: Stored[]) => Promise<Row[]> | Row[],
): Promise<Rows<Row>> {
  const fetchPage = async () => prepare(await sql.unsafe<Stored[]>(`fetch ${pageRows} from "${name}"`))
  const fetchSoon = () => {
    const page = fetchPage()
    // Prevents an unhandled rejection: `next` throws the same error later.
    page.catch(() => {})
    return page
  }
  const declared = unprepared(sql`declare ${sql(name)} no scroll cursor for ${query}`).execute()
  // The first page is requested at once. If the declaration fails, `await` throws its error.
  let [page, following, at]: [Row[], Promise<Row[]>, number] = [[], fetchSoon(), 0]
  await declared
  const rows: Rows<Row> = {
    current: undefined,
    async next() {
      if (at === page.length) {
        page = await following
        at = 0
        if (page.length > 0) following = fetchSoon()
      }
      return (rows.current = page[at++])
    },
  }
  return rows
}
