import { shownRow } from '../../src/log/rows-with-person.ts'
import type { TaskRow } from '../../drizzle/rows.ts'
import type { EntityDefinition } from '../../src/model/definition.ts'
import type { ChildOfTask, Entity } from '../../src/model/entities.ts'
import { model } from '../../src/model/model.ts'
import type { FindPerson } from '../../src/reads/people.ts'
import { openOldestSeq } from '../../src/reads/retention.ts'
import { readEventPage } from '../events/rows.ts'
import { eventView } from '../events/schema.ts'
import type { ExportedTask, Format, Writer, ShownTask } from './formats/format.ts'
import { childRows, type StoredChild, taskRows, authorsOf, existingTasks } from './rows.ts'
import type { ProjectParts, ExportedProject } from './exported-project.ts'
import { CursorRows } from './transaction.ts'
import { hideDeletedReferences, referencedTasks } from '../../src/model/references.ts'
import { showClaims } from '../tasks/shown-claims.ts'
import { taskView } from '../tasks/schema.ts'

/** Rows are collected into texts of at least this length. */
const textCharacters = 65_536
const eventsPerPage = 200

interface Options {
  format: Format
  history: boolean
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
  const prepare = (rows: TaskRow[]) => shownTasks(exported, parts, rows, format.hasAuthors, findPerson)
  yield* taskTexts(exported, writer, await openRows(exported, prepare))
  if (history && writer.event) yield* eventTexts(exported, writer.event)
  yield writer.end()
}

type Children = { definition: EntityDefinition<ChildOfTask>; rows: CursorRows<ShownChild> }
type ShownChild = { taskId: string; shown: object }

async function openRows(
  exported: ExportedProject,
  prepare: Parameters<typeof CursorRows.open<TaskRow, ExportedTask>>[3],
) {
  const { sql } = exported
  const children = model().ofTask.map(async (definition): Promise<Children> => {
    const shown = (rows: StoredChild[]) =>
      rows.map((row) => ({ taskId: row.taskId, shown: shownRow(definition, row) }))
    const query = childRows(sql, definition, exported)
    return { definition, rows: await CursorRows.open(sql, definition.plural, query, shown) }
  })
  const tasks = CursorRows.open(sql, 'tasks', taskRows(sql, exported), prepare)
  const [opened, ...others] = await Promise.all([tasks, ...children])
  return { tasks: opened, children: others }
}

/** Merges tasks and their children. All lists of children have the order of the tasks. */
async function* taskTexts(
  { exportedAt }: ExportedProject,
  writer: Writer,
  { tasks, children }: Awaited<ReturnType<typeof openRows>>,
) {
  let text = ''
  while (await tasks.fill())
    for (let task = tasks.current; task; task = tasks.next()) {
      text += writer.task(task)
      for (const { definition, rows } of children) {
        text += writer.beginChildren(definition.name, definition.plural)
        while (rows.current ?? (await rows.fill())) {
          if (rows.current!.taskId !== task.shown.id) break
          text += writer.child(definition.name, rows.current!.shown)
          rows.next()
          if (text.length < textCharacters) continue
          yield text
          text = ''
        }
        text += writer.endChildren(definition.name)
      }
      text += writer.endTask()
      if (text.length < textCharacters) continue
      yield text
      text = ''
    }
  for (const { definition, rows } of children)
    if (await rows.fill()) throw new Error(`A ${definition.name} has no task in the export of ${exportedAt}`)
  yield text
}

async function* eventTexts({ sql, projectId, version }: ExportedProject, textOf: (shown: object) => string) {
  const oldestSeq = openOldestSeq(sql)
  for (let after = ((await oldestSeq(projectId)) ?? 1) - 1; after < version;) {
    const slice = { projectId, after, version, limit: eventsPerPage, types: null }
    const { events, upTo } = await readEventPage(sql, oldestSeq, slice)
    yield events.map((event) => textOf(eventView.of(event))).join('')
    after = upTo
  }
}

/** Returns tasks as their view shows them, without references to deleted rows. */
async function shownTasks(
  exported: ExportedProject,
  { all, ids }: ProjectParts,
  rows: TaskRow[],
  hasAuthors: boolean,
  findPerson: FindPerson,
): Promise<ExportedTask[]> {
  const { sql, projectId, isPast } = exported
  const [existing, authors] = await Promise.all([
    existingTasks(sql, exported, [...new Set(rows.flatMap((row) => referencedTasks('task', row)))]),
    hasAuthors
      ? authorsOf(
          sql,
          projectId,
          rows.map(({ id }) => id),
        )
      : undefined,
  ])
  const has = (entity: Entity, id: string) => (entity === 'task' ? existing : ids(entity)).has(id)
  const state = { has, all: all as never, row: () => undefined }
  const { holderOf } = await showClaims(findPerson, rows, isPast)
  return rows.map((row) => {
    const shown = hideDeletedReferences(state, 'task', row)
    return {
      shown: taskView.of(shown, holderOf?.(row)) as ShownTask,
      author: authors?.get(row.id) ?? null,
    }
  })
}
