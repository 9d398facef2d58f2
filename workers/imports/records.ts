import { getTableName } from 'drizzle-orm'
import type { FieldRow } from '../../drizzle/rows.ts'
import type { importItems } from '../../drizzle/schema/imports.ts'
import type { ImportOperation } from '../../modules/imports/command.ts'
import {
  childId,
  childTail,
  DigestKeys,
  externalIdOf,
  msOf,
  last16Digits,
} from '../../modules/imports/convert/keys.ts'
import {
  type FieldSpec,
  type LabelSpec,
  openPeople,
  type ProjectPerson,
} from '../../modules/imports/convert/names.ts'
import { Conversion, type ConvertContext, Notes, subtaskOf } from '../../modules/imports/convert/record.ts'
import { cut } from '../../modules/imports/convert/texts.ts'
import type { ChildItem, TaskItem } from '../../modules/imports/items.ts'
import type { Source } from '../../modules/imports/sources.ts'
import { isId } from '../../src/id-format.ts'
import { nowMs } from '../../src/ids.ts'
import { personColumns } from '../../src/log/rows-at.ts'
import { definitionOf } from '../../src/model/model.ts'
import { columnsOf } from '../../src/postgres/columns.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { type Outcome, type PreparedRow, runBatches } from './batches.ts'
import type { Run } from './import-row.ts'
import { type Blockers, divideBlockers, readBlockers } from './links.ts'
import { hasSubItems, readStaged, readSubItems, type Staged, type SubItem } from './staged.ts'

/** A label or field of the file, or the description and settings of its project. */
interface StagedName extends Pick<typeof importItems.$inferSelect, 'n' | 'key' | 'id'> {
  kind: 'project' | 'label' | 'field'
  item: LabelSpec & FieldSpec
  outcome: Outcome
}

const readNames = ({ sql, id }: Run) => sql<StagedName[]>`
  select kind, n, key, id, item, coalesce(outcome, 'created') as outcome from import_items
  where import_id = ${id} and kind in ('project', 'label', 'field') order by n`

/** The owner and the members of a project. */
export const readPeople = (sql: Sql, projectId: string) => sql<ProjectPerson[]>`
  select u.id, u.name, u.email from users u where u.id in (
    select owner_id from projects where id = ${projectId}
    union all select user_id from members where project_id = ${projectId})`

const operationOf = ({ kind, item, id }: StagedName): ImportOperation => ({ ...item, op: kind, id })

/**
 * Creates the missing labels. For an ADMIN, also creates the missing fields and description. One command decides all
 * names, because a dry run commits nothing.
 */
export async function importNames(run: Run): Promise<void> {
  const names = await readNames(run)
  await runBatches(run, {
    read: async (after) => names.filter(({ n }) => n > after),
    prepare: async (page) =>
      page.map((one) => ({
        ...{ n: one.n, kind: one.kind, row: null, externalId: null, notes: new Notes() },
        subject: `The ${one.kind === 'project' ? 'description and settings of the project' : `${one.kind} "${one.item.name}"`}`,
        operation: operationOf(one),
      })),
  })
}

/** Longer than the time from the conversion of a task to its commit. */
const reminderMs = 10_000

/** Reads the data of the project that the conversion of rows needs. */
export async function readContext(run: Run): Promise<ConvertContext> {
  const { sql, projectId, source, mapping, caller } = run
  const [people, fieldRows, names] = await Promise.all([
    readPeople(sql, projectId),
    sql<FieldRow[]>`select key, name, type, options from task_fields where project_id = ${projectId}`,
    readNames(run),
  ])
  const fields = new Map(fieldRows.map((field): [string, FieldSpec] => [field.key, field]))
  const labels = new Map<string, string>()
  const uncommitted = new Map<string, ImportOperation>()
  for (const name of names) {
    const { kind, key, outcome, item, id } = name
    if (outcome === 'rejected') continue
    if (kind === 'label') labels.set(key, id)
    if (outcome === 'unchanged') continue
    if (run.dryRun) uncommitted.set(kind === 'label' ? id : key, operationOf(name))
    if (kind !== 'field') continue
    const field = fields.get(key) ?? item
    fields.set(key, { ...field, options: [...new Set([...(field.options ?? []), ...(item.options ?? [])])] })
  }
  return {
    ...{ source, mapping, labels, fields, uncommitted },
    ...{ people: openPeople(people, mapping), userId: caller.userId },
    firstReminder: new Date(nowMs() + reminderMs).toISOString(),
    now: new Date(nowMs()).toISOString(),
  }
}

export async function importTasks(run: Run): Promise<void> {
  const context = await readContext(run)
  const isNested = await hasSubItems(run)
  await runBatches<Staged>(run, {
    read: (after) => readStaged(run, 'task', after, run.batchRows),
    async prepare(tasks) {
      const wholes = tasks.filter(({ firstRow }) => firstRow === null)
      const parts = Map.groupBy(isNested ? await readSubItems(run, wholes) : [], ({ taskN }) => taskN)
      const blockerKeys = tasks.flatMap(({ item }) => item.blockedBy ?? [])
      const blockers = await readBlockers(run, blockerKeys)
      return tasks.map((task) => prepareTask(task, parts.get(task.n) ?? [], context, blockers))
    },
    // In a dry run: the operations of the labels and fields that tasks have and that are not committed.
    before: (operations) => {
      const names = operations.flatMap(({ labelIds = [], fields = {} }) => [
        ...(labelIds as string[]),
        ...Object.keys(fields as object),
      ])
      return [...new Set(names)].flatMap((name) => context.uncommitted.get(name) ?? [])
    },
  })
}

function prepareTask(
  staged: Staged,
  subItems: SubItem[],
  context: ConvertContext,
  blockers: Blockers,
): PreparedRow {
  const { n, row, key, id, item, firstRow } = staged
  const externalId = externalIdOf(context.source, { key, externalId: item.externalId })
  const notes = new Conversion(context, item.messages)
  const prepared = { kind: 'task', n, row, externalId, notes }
  const problem = firstRow === null ? item.problem : `Row ${firstRow} has the same id`
  if (problem) {
    notes.report(problem)
    return { ...prepared, outcome: 'rejected' }
  }
  for (const { key: blocker, reason } of divideBlockers(item, blockers).others)
    notes.addToFoot(`Blocked by: ${blocker}`, `The blocker ${blocker} ${reason}`)
  const values = notes.task(item)
  for (const one of subItems) notes.addReported(lineOfSubItem(one, item, context))
  addParent(staged, notes)
  const description = notes.describe(item.description)
  const operation: ImportOperation = {
    ...{ op: 'task', id, externalId, ...values },
    ...(description !== undefined && { description }),
    ...(item.isExported && isId(key) && { ownId: key }),
    ...(item.number && { number: item.number }),
  }
  return { ...prepared, operation }
}

/** Returns the values of a subtask that it has no field for, or the title of a sub-item that becomes a task. */
function lineOfSubItem({ kind, item, key }: SubItem, { list }: TaskItem, context: ConvertContext): string {
  if (kind === 'leaf') return subtaskOf(item, context, list).line ?? ''
  const title = cut(item.title.trim(), 100)
  return `Sub-item: ${item.hasNoId ? title : `${key} ${title}`}`
}

/** Adds notes about the parent to a sub-item that became a task. The parent has a line about the sub-item. */
function addParent({ parent, task }: Staged, notes: Notes): void {
  if (parent === null) return
  if (!task) return notes.addToFoot(`Parent: ${parent}`, `The parent "${parent}" is not in the file`)
  notes.addReported(`Parent: ${task.hasNoId ? task.title : parent}`)
  notes.report(
    `The sub-item of "${task.title}" became a task, because it has sub-items, comments or a description`,
  )
}

type StagedChild = Staged<ChildItem>

/** Imports the children of tasks. The step `leaves` imports the sub-items that become subtasks. */
export async function importChildren(run: Run): Promise<void> {
  const context = await readContext(run)
  const kind = run.cursor.step === 'leaves' ? 'leaf' : 'child'
  await runBatches<StagedChild>(run, {
    async read(after) {
      const rows = await readStaged<TaskItem | ChildItem>(run, kind, after, 2 * run.batchRows)
      return rows.map((row) => ({
        ...row,
        item: row.item.kind === 'task' ? subtaskOf(row.item, context, row.task?.list).subtask : row.item,
      }))
    },
    async prepare(rows) {
      const existing = await readExistingChildren(run.sql, rows)
      return rows.map((row) => prepareChild(row, context, run.dryRun, existing))
    },
  })
}

function problemOf({ parent, task, firstRow, item: { kind } }: StagedChild): string | undefined {
  if (!task) return `The task ${parent} of this ${kind} is not in the file`
  if (task.outcome === 'rejected') return `The task of this ${kind}, in row ${task.row}, was rejected`
  return firstRow === null ? undefined : `Row ${firstRow} has the same id`
}

function prepareChild(
  staged: StagedChild,
  context: ConvertContext,
  dryRun: boolean,
  existing: ExistingChildren,
): PreparedRow {
  const { n, row, task, parent, item } = staged
  const { kind } = item
  const externalId = externalIdOf(context.source, { key: parent!, externalId: task?.externalId })
  const notes = new Conversion(context, item.messages)
  const prepared = { kind, n, row, externalId, notes, taskN: task?.n ?? 0, subject: `The ${kind}` }
  const problem = problemOf(staged)
  if (problem) notes.report(problem)
  const fields = problem ? undefined : notes.child(item)
  if (!fields) return { ...prepared, outcome: 'rejected' }
  // A task that a dry run would create accepts every child.
  if (dryRun && !task!.outcome) return { ...prepared, outcome: 'created' }
  const id = childIdOf(staged, context.source, existing, fields.createdAt as string | undefined)
  return { ...prepared, operation: { op: kind, id, taskId: task!.id, ...fields } }
}

/** The ids of the children that tasks already have: by id, by the end of the id, and by the key of a child without an id. */
type ExistingChildren = ReadonlyMap<string, string>

interface Child {
  id: string
  /** The key of the task in the file. */
  task: string
  createdAt: string
  author?: string | null
}

/** Reads what identifies the children of tasks that existed before: the author and the time, or else the text. */
async function readExistingChildren(sql: Sql, rows: StagedChild[]): Promise<ExistingChildren> {
  const known = rows.filter(({ task }) => task?.outcome && task.outcome !== 'rejected')
  const ids = new Map<string, string>()
  const digests = new DigestKeys()
  for (const [kind, ofKind] of Map.groupBy(known, ({ item }) => item.kind)) {
    const definition = definitionOf(kind)
    const { people } = personColumns(sql, definition, 'c')
    const columnOf = (key: string) => columnsOf(definition.table).find((one) => one.key === key)?.name
    const author = columnOf('importedAuthor') ? 'coalesce(c.imported_author, u.name)' : 'u.name'
    const shown = definition.person ? `${author} as author` : `c.${columnOf(definition.asChild!.text)}`
    const [tasks, keys] = [ofKind.map(({ task }) => task!.id), ofKind.map(({ parent }) => parent!)]
    // A lateral join, because Postgres would scan the whole table while its statistics do not know the imported tasks.
    const children = await sql<Child[]>`
      select c.id, q.task, c.created_at, ${sql.unsafe(shown)}
      from (select distinct * from unnest(${tasks}::uuid[], ${keys}::text[])) q(task_id, task)
      cross join lateral (
        select * from ${sql(getTableName(definition.table))} where task_id = q.task_id order by id) c ${people}`
    for (const { id, createdAt, author, ...others } of children) {
      const by = author ? { name: author } : undefined
      const item = { ...others, kind, row: 0, author: by, createdAt: new Date(createdAt).toISOString() }
      ids.set(id, id).set(last16Digits(id), id).set(digests.ofChild(item), id)
    }
  }
  return ids
}

/** Returns the id of the child that an earlier import created, or else a new id, which is the same in each import. */
function childIdOf(
  { n, key, task, item: { kind, key: ownKey = '', csvKey = '' } }: StagedChild,
  source: Source,
  existing: ExistingChildren,
  createdAt?: string,
): string {
  const { id: taskId, isExported } = task!
  const tail = childTail(taskId, source, kind, key)
  const own = source === 'docket' && isId(ownKey) ? ownKey : undefined
  // Lists sort children by id. Comments have the order of their times, and subtasks the order of the file.
  const time = definitionOf(kind).person ? createdAt : undefined
  const ms = own ? msOf(own) : time ? Date.parse(time) : msOf(taskId)
  return (
    existing.get(own ?? '') ??
    existing.get(tail) ??
    existing.get(csvKey && childTail(taskId, 'csv', kind, csvKey)) ??
    (source === 'csv' && isExported ? existing.get(key) : undefined) ??
    childId(ms + (n >> 12), n, tail)
  )
}
