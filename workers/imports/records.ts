import { getTableName } from 'drizzle-orm'
import type { ChildOperation, TaskOperation } from '../../modules/imports/command/operations.ts'
import {
  childId,
  childTail,
  DigestKeys,
  externalIdOf,
  msOf,
  last16Digits,
} from '../../modules/imports/convert/keys.ts'
import { maxFoot, Notes, Texts } from '../../modules/imports/convert/notes.ts'
import { convertChild, convertTask, subtaskOf } from '../../modules/imports/convert/record.ts'
import { cut } from '../../modules/imports/convert/texts.ts'
import type { ChildItem, SubtaskItem } from '../../modules/imports/items.ts'
import type { Source } from '../../modules/imports/sources.ts'
import { isId } from '../../src/id-format.ts'
import { personColumns } from '../../src/log/rows-with-person.ts'
import type { ChildOfTask } from '../../src/model/entities.ts'
import { definitionOf } from '../../src/model/model.ts'
import { columnsOf } from '../../src/postgres/columns.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { runBatches } from './batches.ts'
import type { Run } from './import-row.ts'
import { type Blockers, divideBlockers, readBlockers } from './links.ts'
import { type LoadContext, readContext } from './names.ts'
import { countChangedTasks, countTasks, type PreparedRow, storeItems } from './report.ts'
import {
  hasSubItems,
  lastOf,
  readChildren,
  readSubItems,
  readTasks,
  type StagedChild,
  type StagedTask,
  type SubItem,
} from './staged.ts'

export async function importTasks(run: Run): Promise<void> {
  const { sql, running, batchRows } = run
  const context = await readContext(run)
  const isNested = await hasSubItems(sql, running.id)
  await runBatches(run, {
    step: 'tasks',
    last: await lastOf(sql, running.id, 'task'),
    read: (after) => readTasks(sql, running.id, after, batchRows),
    async prepare(tasks) {
      const subItems = isNested ? await readSubItems(sql, running.id, tasks.filter(isFirst)) : []
      const blockers = await readBlockers(
        run,
        tasks.flatMap(({ item }) => item.blockedBy ?? []),
      )
      const parts = Map.groupBy(subItems, ({ taskN }) => taskN)
      return tasks.map((task) => prepareTask(task, parts.get(task.n) ?? [], context, blockers))
    },
    before: (operations) => uncommittedOf(operations as TaskOperation[], context),
    store: (tx, finished) =>
      Promise.all([storeItems(tx, running.id, finished), countTasks(tx, running.id, finished)]),
  })
}

const isFirst = ({ firstRow }: StagedTask): boolean => firstRow === null

/** In a dry run: the operations of the labels and fields that tasks have and that are not committed. */
function uncommittedOf(operations: TaskOperation[], { uncommitted }: LoadContext) {
  if (uncommitted.size === 0) return []
  const names = operations.flatMap(({ labelIds = [], fields = {} }) => [...labelIds, ...Object.keys(fields)])
  return [...new Set(names)].flatMap((name) => uncommitted.get(name) ?? [])
}

function prepareTask(
  staged: StagedTask,
  subItems: SubItem[],
  context: LoadContext,
  blockers: Blockers,
): PreparedRow & { kind: 'task' } {
  const { n, row, key, id, item, firstRow } = staged
  const externalId = externalIdOf(context.source, { key, externalId: item.externalId })
  const notes = new Notes(item.messages)
  const prepared = { kind: 'task' as const, n, row, externalId, notes }
  const problem = firstRow === null ? item.problem : `Row ${firstRow} has the same id`
  if (problem) {
    notes.report(problem)
    return { ...prepared, outcome: 'rejected' }
  }
  for (const { key: blocker, reason } of divideBlockers(item, blockers).others)
    notes.addToFoot(`Blocked by: ${blocker}`, `The blocker ${blocker} ${reason}`)
  const addLast = () => {
    notes.addReported(subItemLines(staged, subItems, context))
    addParent(staged, notes)
  }
  const operation: TaskOperation = {
    ...{ op: 'task', id, externalId, ...convertTask(item, context, notes, addLast) },
    ...(item.isExported && isId(key) && { ownId: key }),
    ...(item.number && { number: item.number }),
  }
  return { ...prepared, operation }
}

/** Adds notes about the parent to a sub-item that became a task. `subItemLines` adds the sub-item to the parent. */
function addParent({ parent, parentTitle, parentHasNoId }: StagedTask, notes: Notes): void {
  if (parent === null) return
  if (parentTitle === null)
    return notes.addToFoot(`Parent: ${parent}`, `The parent "${parent}" is not in the file`)
  notes.addReported([`Parent: ${parentHasNoId ? parentTitle : parent}`])
  notes.report(
    `The sub-item of "${parentTitle}" became a task, because it has sub-items, comments or a description`,
  )
}

function subItemLines(task: StagedTask, subItems: SubItem[], context: LoadContext): string[] {
  const lines = new Texts(maxFoot)
  for (const { kind, item, key } of subItems)
    if (kind === 'leaf') {
      const { line } = subtaskOf(item, context, item.list === task.item.list)
      if (line) lines.add(line)
    } else {
      const title = cut(item.title.trim(), 100)
      lines.add(`Sub-item: ${item.hasNoId ? title : `${key} ${title}`}`)
    }
  return lines.texts
}

type PreparedChild = PreparedRow & { taskN: number | null }

/** Imports the children of tasks. @param kind `leaf`: sub-items that become subtasks */
export async function importChildren(run: Run, kind: 'leaf' | 'child'): Promise<void> {
  const { sql, running, batchRows } = run
  const context = await readContext(run)
  await runBatches<StagedChild, PreparedChild>(run, {
    step: kind === 'leaf' ? 'leaves' : 'children',
    last: await lastOf(sql, running.id, kind),
    read: (after) => readChildren(sql, running.id, kind, after, 2 * batchRows),
    async prepare(children) {
      const items = children.map((one) => itemOf(one, context))
      const existing = await readExistingChildren(sql, children, items)
      return children.map((one, n) => prepareChild(one, items[n]!, context, running.dryRun, existing))
    },
    store(tx, finished) {
      const changed = finished.filter(({ outcome }) => outcome === 'created' || outcome === 'updated')
      const tasks = changed.flatMap(({ taskN }) => taskN ?? [])
      return countChangedTasks(tx, running.id, tasks)
    },
  })
}

const itemOf = ({ item, task }: StagedChild, context: LoadContext): ChildItem =>
  item.kind === 'task' ? subtaskOf(item, context, item.list === task.list).subtask : item

function problemOf({ taskN, taskKey, taskRow, taskOutcome, firstRow }: StagedChild, kind: string) {
  if (taskN === null) return `The task ${taskKey} of this ${kind} is not in the file`
  if (taskOutcome === 'rejected') return `The task of this ${kind}, in row ${taskRow}, was rejected`
  return firstRow === null ? undefined : `Row ${firstRow} has the same id`
}

function prepareChild(
  staged: StagedChild,
  item: ChildItem,
  context: LoadContext,
  dryRun: boolean,
  existing: ExistingChildren,
): PreparedChild {
  const { n, row, taskN, taskKey, taskId, taskOutcome, task } = staged
  const { kind } = item
  const externalId = externalIdOf(context.source, { key: taskKey, externalId: task.externalId })
  const notes = new Notes(item.messages)
  const prepared: PreparedChild = { n, row, externalId, notes, taskN, subject: `The ${kind}` }
  const problem = problemOf(staged, kind)
  if (problem) notes.report(problem)
  const fields = problem ? undefined : convertChild(item, context, notes)
  if (!fields) return { ...prepared, outcome: 'rejected' }
  // A task that a dry run would create accepts every child.
  if (dryRun && taskOutcome === null) return { ...prepared, outcome: 'created' }
  const id = childIdOf(staged, item, context.source, existing, fields.createdAt)
  return { ...prepared, operation: { op: kind, id, taskId, ...fields } as ChildOperation }
}

/** The ids of the children that tasks already have: by id, by the end of the id, and by the key of a child without an id. */
type ExistingChildren = ReadonlyMap<string, string>

/** Reads the children of tasks that existed before the import. */
async function readExistingChildren(
  sql: Sql,
  children: StagedChild[],
  items: ChildItem[],
): Promise<ExistingChildren> {
  const tasksByKind = new Map<ChildOfTask, Map<string, string>>()
  for (const [n, { kind }] of items.entries()) {
    const { taskId, taskKey, taskOutcome } = children[n]!
    if (taskOutcome === null || taskOutcome === 'rejected') continue
    tasksByKind.set(kind, (tasksByKind.get(kind) ?? new Map()).set(taskId, taskKey))
  }
  const ids = new Map<string, string>()
  const keys = new DigestKeys()
  for (const [kind, tasks] of tasksByKind)
    for (const { id, key, createdAt, importedAuthor, personName, ...text } of await childrenOf(
      sql,
      kind,
      tasks,
    )) {
      const name = importedAuthor ?? personName
      const author = name ? { name } : undefined
      const item = { ...text, kind, task: key, author, createdAt: new Date(createdAt).toISOString() }
      ids
        .set(id, id)
        .set(last16Digits(id), id)
        .set(keys.ofChild(item as unknown as SubtaskItem), id)
    }
  return ids
}

interface Child {
  id: string
  /** The key of the task in the file. */
  key: string
  createdAt: string
  importedAuthor?: string | null
  personName?: string | null
}

/** Reads what identifies children: the author and the time of kinds with an author, the text of others. */
function childrenOf(sql: Sql, kind: ChildOfTask, tasks: ReadonlyMap<string, string>) {
  const definition = definitionOf(kind)
  const { names, people } = personColumns(sql, definition, 'c')
  const shown = ['importedAuthor', definition.person ? '' : definition.asChild!.text]
  const columns = columnsOf(definition.table).flatMap(({ key, name }) =>
    shown.includes(key) ? `, c.${name}` : [],
  )
  // A lateral join, because Postgres would scan the whole table while its statistics do not know the imported tasks.
  return sql<Child[]>`
    select c.id, q.key, c.created_at ${sql.unsafe(columns.join(''))} ${names}
    from unnest(${[...tasks.keys()]}::uuid[], ${[...tasks.values()]}::text[]) q(task_id, key) cross join lateral (
      select * from ${sql(getTableName(definition.table))} where task_id = q.task_id order by id) c ${people}`
}

/** Returns the id of the child that an earlier import created, or else a new id, which is the same in each import. */
function childIdOf(
  { n, key, taskId, task }: StagedChild,
  { kind, key: ownKey = '', csvKey = '', orderMs }: ChildItem,
  source: Source,
  existing: ExistingChildren,
  createdAt?: string,
): string {
  const tail = childTail(taskId, source, kind, key)
  const own = source === 'docket' && isId(ownKey) ? ownKey : undefined
  // Children without a time get the time of their task. A later child with a time must not come before them.
  const time = orderMs === undefined ? undefined : Math.max(orderMs, msOf(taskId))
  const ms = own ? msOf(own) : (time ?? (createdAt ? Date.parse(createdAt) : msOf(taskId)))
  return (
    existing.get(own ?? '') ??
    existing.get(tail) ??
    existing.get(csvKey && childTail(taskId, 'csv', kind, csvKey)) ??
    (source === 'csv' && task.isExported ? existing.get(key) : undefined) ??
    childId(ms + (n >> 12), n, tail)
  )
}
