import type { TaskRow } from '../../drizzle/rows.ts'
import { shownRow, type WithPerson } from '../../src/log/rows-with-person.ts'
import type { Entity } from '../../src/model/entities.ts'
import { model } from '../../src/model/model.ts'
import { hideDeletedReferences, referencedTasks } from '../../src/model/references.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'
import type { FindPerson } from '../../src/reads/people.ts'
import { taskView } from '../tasks/schema.ts'
import { showClaims } from '../tasks/shown-claims.ts'
import type { ExportedTask, Format, Writer } from './formats.ts'
import {
  authorsOf,
  childRows,
  existingTasks,
  type ExportedProject,
  type ProjectParts,
  taskRows,
} from './project.ts'

/** Rows are collected into texts of at least this length. */
const textCharacters = 65_536
/** With the longest texts, a page of rows takes 16 MB. */
const pageRows = 200

/** Yields the texts of all events of a project, up to its version. */
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
  parts: ProjectParts,
  { format, history, findPerson }: Options,
): AsyncGenerator<string, void, void> {
  const writer = format.open(exported, parts)
  yield writer.begin()
  const { sql } = exported
  const shown = (rows: TaskRow[]) => shownTasks(exported, parts, rows, format.hasAuthors, findPerson)
  const [tasks, ...children] = await Promise.all([
    Rows.open<TaskRow, ExportedTask>(sql, 'tasks', taskRows(exported), shown),
    ...model().ofTask.map((child) =>
      Rows.open<ShownChild, ShownChild>(sql, child.plural, childRows(exported, child), (rows) =>
        rows.map((row) => ({ taskId: row.taskId, shown: shownRow(child, row) as never })),
      ),
    ),
  ])
  yield* taskTexts(writer, tasks, children)
  if (history && writer.event) yield* history(exported, writer.event)
  yield writer.end()
}

type ShownChild = WithPerson & { taskId: string; shown: Record<string, unknown> }

/** Merges tasks and their children. All lists of children have the order of the tasks. */
async function* taskTexts(writer: Writer, tasks: Rows<ExportedTask>, children: Rows<ShownChild>[]) {
  const lists = model().ofTask.map((child, n) => {
    return { child, rows: children[n]!, texts: writer.list(child) }
  })
  let text = ''
  for (let task = await tasks.first(); task; task = tasks.next() ?? (await tasks.first())) {
    const [before, after] = writer.task(task)
    text += before
    for (const { child, rows, texts } of lists) {
      const [open, separator, close] = texts
      text += open
      let isFirst = true
      while ((rows.current ?? (await rows.first()))?.taskId === task.shown.id) {
        text += (isFirst ? '' : separator) + writer.child(child, rows.current!.shown, isFirst)
        isFirst = false
        rows.next()
        if (text.length < textCharacters) continue
        yield text
        text = ''
      }
      text += close
    }
    text += after
    if (text.length < textCharacters) continue
    yield text
    text = ''
  }
  for (const { child, rows } of lists)
    if (await rows.first()) throw new Error(`A ${child.name} of an export has no task`)
  yield text
}

/** The rows of a query, in pages. Postgres computes the next page while this process uses the current page. */
class Rows<Row> {
  private rows: Row[] = []
  private at = 0
  private page: Promise<Row[]>

  private constructor(private readonly fetchPage: () => Promise<Row[]>) {
    this.page = this.fetchNext()
  }

  /** @param prepare is called for each page */
  static async open<Stored extends object, Row>(
    sql: Sql,
    name: string,
    query: SqlPart,
    prepare: (rows: Stored[]) => Promise<Row[]> | Row[],
  ): Promise<Rows<Row>> {
    const declared = unprepared(sql`declare ${sql(name)} no scroll cursor for ${query}`).execute()
    // The first page is requested at once. If the declaration fails, `await` throws its error.
    const rows = new Rows(async () => prepare(await sql.unsafe<Stored[]>(`fetch ${pageRows} from "${name}"`)))
    await declared
    return rows
  }

  private fetchNext(): Promise<Row[]> {
    const next = this.fetchPage()
    // Prevents an unhandled rejection: `first` throws the same error later.
    next.catch(() => {})
    return next
  }

  /** Undefined at the end of the page. */
  get current(): Row | undefined {
    return this.rows[this.at]
  }

  next(): Row | undefined {
    return this.rows[++this.at]
  }

  /** Returns the current row, or the first row of the next page. Undefined after the last row. */
  async first(): Promise<Row | undefined> {
    if (this.current === undefined) {
      this.rows = await this.page
      this.at = 0
      if (this.rows.length > 0) this.page = this.fetchNext()
    }
    return this.current
  }
}

/** Returns tasks as their view shows them, without references to deleted rows. */
export async function shownTasks(
  exported: ExportedProject,
  { all }: ProjectParts,
  rows: TaskRow[],
  hasAuthors: boolean,
  findPerson: FindPerson,
): Promise<ExportedTask[]> {
  const ids = rows.map(({ id }) => id)
  const [existing, authors] = await Promise.all([
    existingTasks(exported, [...new Set(rows.flatMap((row) => referencedTasks('task', row)))]),
    hasAuthors ? authorsOf(exported, ids) : undefined,
  ])
  const idsOf = new Map<Entity, ReadonlySet<string>>([['task', existing]])
  const has = (entity: Entity, id: string) => {
    const known = idsOf.get(entity) ?? new Set(all(entity).map((row) => row.id))
    idsOf.set(entity, known)
    return known.has(id)
  }
  const state = { has, all: all as never, row: () => undefined }
  const { holderOf } = await showClaims(findPerson, rows, exported.isPast)
  return rows.map((row) => {
    const shown = hideDeletedReferences(state, 'task', row)
    return {
      shown: taskView.of(shown, holderOf?.(row)) as ExportedTask['shown'],
      author: authors?.get(row.id) ?? null,
    }
  })
}

/** An ASCII name for a file, such as `analytical-engine`. */
export const fileName = (name: string): string =>
  name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 60)
    .replace(/^-+|-+$/g, '') || 'project'
