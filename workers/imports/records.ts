import type {
  CommentOperation,
  SubtaskOperation,
  TaskOperation,
} from '../../modules/imports/command/operations.ts'
import { childId, childTail, externalIdOf, msOf } from '../../modules/imports/convert/keys.ts'
import { maxFoot, Notes, Texts } from '../../modules/imports/convert/notes.ts'
import {
  convertComment,
  convertSubtask,
  convertTask,
  subtaskOf,
} from '../../modules/imports/convert/record.ts'
import { cut } from '../../modules/imports/convert/texts.ts'
import type { CommentItem, SubtaskItem } from '../../modules/imports/items.ts'
import { isId } from '../../src/id-format.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { forEachPage } from '../throttle.ts'
import { runBatches } from './batches.ts'
import { type Blockers, divideBlockers, readBlockers } from './blockers.ts'
import { type ExistingChildren, readExistingChildren } from './existing-children.ts'
import { endStep, moveCursor, type Run } from './import-row.ts'
import {
  countChangedTasks,
  countRead,
  countTasks,
  type FinishedRow,
  insertLines,
  type PreparedRow,
  storeItems,
} from './report.ts'
import { readContext, type StepContext } from './specs.ts'
import {
  hasSubItems,
  lastOf,
  orphans,
  readRecords,
  readSubItems,
  type StagedChild,
  type StagedTask,
  type SubItem,
} from './staged.ts'

const pageRows = 5_000

/**
 * Marks sub-items that become subtasks: they have no sub-items, comments and description of their own. Reports subtasks
 * and comments whose task is not in the file.
 */
export async function findSubItems(run: Run): Promise<void> {
  const { sql, running } = run
  const { id } = running
  const last = await lastOf(sql, id, 'task')
  await forEachPage(run.throttle, running.cursor.n, async (after) => {
    if (after >= last) return undefined
    const end = after + pageRows
    await moveCursor(
      run,
      { step: 'sub-items', n: end },
      end / last,
      (tx) => tx`
      update import_items i set kind = 'leaf'
      where i.import_id = ${id} and i.kind = 'task' and i.n > ${after} and i.n <= ${end} and i.parent is not null
        and coalesce(i.item ->> 'description', '') !~ '\\S' and i.item -> 'problem' is null
        and exists (select from import_items p where p.import_id = ${id} and p.kind = 'task' and p.key = i.parent)
        and not exists (select from import_items c where c.import_id = ${id} and c.parent = i.key)
        and not exists (select from import_items e
          where e.import_id = ${id} and e.kind in ('task', 'leaf') and e.key = i.key and e.n < i.n)`,
    )
    return end
  })
  await endStep(run, 'sub-items', (tx) => countRead(tx, id))
}

interface PreparedRecord extends PreparedRow {
  kind: 'task' | 'subtask' | 'comment'
  /** The number of the task. */
  taskN: number
}

/** Imports tasks, each with its subtasks and comments. A task with many of them is imported in several batches. */
export async function importRecords(run: Run): Promise<void> {
  const { sql, running } = run
  const context = await readContext(run)
  if (running.cursor.n === 0 && running.cursor.child === undefined) await reportOrphans(run, context)
  const isNested = await hasSubItems(sql, running.id)
  // Only a few tasks are read at once if the tasks before them have many children.
  let maxTasks = run.batchRows
  await runBatches<PreparedRecord>(run, {
    step: 'records',
    last: await lastOf(sql, running.id, 'task'),
    async prepare(after) {
      const page = await readRecords(sql, running.id, after, run.batchRows, maxTasks)
      if (!page) return undefined
      const { tasks, children, end } = page
      maxTasks = Math.min(run.batchRows, 2 * tasks.length + 1)
      const subItems = isNested ? await readSubItems(sql, running.id, tasks) : []
      const lists = tasks.map(({ item }) => item.blockedBy ?? [])
      const [blockers, holders] = await Promise.all([
        readBlockers(run, lists),
        readHolders(run, tasks, context),
      ])
      const existing = await readExistingChildren(sql, children, holders)
      const prepared = tasks.flatMap((task) => {
        const own = children.filter(({ taskN }) => taskN === task.n)
        const taskId = holders.get(task.n)
        const parts = subItems.filter(({ taskN }) => taskN === task.n)
        const row = task.isContinued ? [] : [prepareTask(task, parts, context, blockers)]
        const ids = { taskId: taskId ?? task.id, isNew: taskId === undefined && running.dryRun }
        return [...row, ...own.map((child) => prepareChild(child, task, ids, context, existing))]
      })
      return { prepared, end }
    },
    settle,
    store(tx, finished) {
      const tasks = finished.filter(({ kind }) => kind === 'task')
      const stored = new Set(tasks.map(({ taskN }) => taskN))
      const continued = changedTasks(finished).filter((taskN) => !stored.has(taskN))
      return Promise.all([
        storeItems(tx, running.id, tasks),
        countTasks(tx, running.id, tasks),
        countChangedTasks(tx, running.id, continued),
      ])
    },
  })
  await endStep(run, 'records')
}

const changedTasks = (finished: FinishedRow<PreparedRecord>[]): number[] =>
  finished.flatMap(({ kind, taskN, outcome }) =>
    kind !== 'task' && (outcome === 'created' || outcome === 'updated') ? taskN : [],
  )

/** A task is updated if one of its subtasks or comments changed. */
function settle(finished: FinishedRow<PreparedRecord>[]): FinishedRow<PreparedRecord>[] {
  const changed = new Set(changedTasks(finished))
  return finished.map((one) =>
    one.kind === 'task' && one.outcome === 'unchanged' && changed.has(one.taskN)
      ? { ...one, outcome: 'updated' }
      : one,
  )
}

async function reportOrphans({ sql, running }: Run, { source }: StepContext): Promise<void> {
  const found = await orphans(sql, running.id)
  if (found.length === 0) return
  const lines = found.map(({ row, kind, task, count }) => ({
    ...{ row, externalId: externalIdOf(source, { key: task }), outcome: 'rejected' },
    message: `The task ${task} of this ${kind} is not in the file${count > 1 ? `, and of ${count - 1} other rows` : ''}`,
  }))
  await sql.begin(async (tx) => {
    // A repeated step finds the lines.
    const [reported] = await tx`
      select from import_lines where import_id = ${running.id} and message like 'The task % is not in the file%' limit 1`
    if (!reported) await insertLines(tx as unknown as Sql, running.id, lines)
  })
}

/** Returns the ids of the tasks that the project already has, by the number of the staged task. */
async function readHolders({ sql, running }: Run, tasks: StagedTask[], { source }: StepContext) {
  const ids = tasks.map(({ key, item }) => externalIdOf(source, { key, externalId: item.externalId }))
  const own = tasks.map(({ key, item }) => (item.isExported && isId(key) ? key : ''))
  const rows = await sql<{ n: number; id: string }[]>`
    select q.n::float8 as n, t.id
    from unnest(${tasks.map(({ n }) => n)}::bigint[], ${ids}::text[], ${own}::text[]) q(n, external_id, own_id)
    cross join lateral (
      select id from tasks where project_id = ${running.projectId} and id = nullif(q.own_id, '')::uuid
      union all select id from tasks where project_id = ${running.projectId} and external_id = q.external_id
      limit 1) t`
  return new Map(rows.map(({ n, id }) => [n, id]))
}

const problemOf = ({ firstRow, item }: StagedTask): string | undefined =>
  firstRow === null ? item.problem : `Row ${firstRow} has the same id`

function prepareTask(
  staged: StagedTask,
  subItems: SubItem[],
  context: StepContext,
  blockers: Blockers,
): PreparedRecord {
  const { n, row, key, id, item } = staged
  const externalId = externalIdOf(context.source, { key, externalId: item.externalId })
  const notes = new Notes(item.messages)
  const prepared: PreparedRecord = { kind: 'task', n, taskN: n, row, externalId, notes }
  const problem = problemOf(staged)
  if (problem) {
    notes.report(problem)
    return { ...prepared, outcome: 'rejected' }
  }
  for (const { key: blocker, reason } of divideBlockers(key, item.blockedBy ?? [], blockers).others)
    notes.addToFoot(`Blocked by: ${blocker}`, `The blocker ${blocker} ${reason}`)
  const addLast = () => {
    notes.addReported(subItemLines(staged, subItems, context))
    addParent(staged, notes)
  }
  const ownId = item.isExported && isId(key) ? key : undefined
  const fieldKeys = ownId && context.columns?.flatMap((name) => /^field\.(.*)$/.exec(name)?.[1] ?? [])
  const operation: TaskOperation = {
    ...{ op: 'task', id, externalId, ...convertTask(item, context, notes, addLast) },
    ...(ownId && { ownId }),
    ...(item.number && { number: item.number }),
    ...(fieldKeys && { fieldKeys }),
  }
  return { ...prepared, ...committed(operation, context) }
}

/** In a dry run, leaves out labels and values of fields that the project does not have yet: they are valid. */
function committed(operation: TaskOperation, { uncommitted }: StepContext) {
  const { labelIds = [], fields = {} } = operation.values
  if (![...labelIds, ...Object.keys(fields)].some((name) => uncommitted.has(name))) return { operation }
  const values = {
    ...operation.values,
    labelIds: labelIds.filter((id) => !uncommitted.has(id)),
    fields: Object.fromEntries(Object.entries(fields).filter(([key]) => !uncommitted.has(key))),
  }
  return { operation: { ...operation, values }, isChanged: true }
}

/** A sub-item that became a task names its parent, and the parent names it. */
function addParent({ parent, parentTitle, parentHasNoId }: StagedTask, notes: Notes): void {
  if (parent === null) return
  if (parentTitle === null)
    return notes.addToFoot(`Parent: ${parent}`, `The parent "${parent}" is not in the file`)
  notes.addReported([`Parent: ${parentHasNoId ? parentTitle : parent}`])
  notes.report(
    `The sub-item of "${parentTitle}" became a task, because it has sub-items, comments or a description`,
  )
}

function subItemLines(task: StagedTask, subItems: SubItem[], context: StepContext): string[] {
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

interface TaskIds {
  taskId: string
  /** True if a dry run would create the task. The task of a real run accepts every subtask and comment. */
  isNew: boolean
}

function prepareChild(
  staged: StagedChild,
  task: StagedTask,
  { taskId, isNew }: TaskIds,
  context: StepContext,
  existing: ExistingChildren,
): PreparedRecord {
  const { n, row, firstRow } = staged
  const item = itemOf(staged, task, context)
  const { kind } = item
  const externalId = externalIdOf(context.source, { key: task.key, externalId: task.item.externalId })
  const notes = new Notes(item.messages)
  const prepared: PreparedRecord = { n, row, externalId, notes, kind, taskN: task.n, subject: `The ${kind}` }
  const isRejected = problemOf(task) !== undefined
  if (isRejected) notes.report(`The task of this ${kind}, in row ${task.row}, was rejected`)
  else if (firstRow !== null) notes.report(`Row ${firstRow} has the same id`)
  const convert = () =>
    item.kind === 'subtask' ? convertSubtask(item, context, notes) : convertComment(item, context, notes)
  const fields = isRejected || firstRow !== null ? undefined : convert()
  if (!fields) return { ...prepared, outcome: 'rejected' }
  if (isNew) return { ...prepared, outcome: 'created' }
  const id = idOf(staged, item, task, taskId, context, existing, fields.createdAt)
  const operation = { op: kind, id, taskId, ...fields } as SubtaskOperation | CommentOperation
  return { ...prepared, operation }
}

const itemOf = (staged: StagedChild, task: StagedTask, context: StepContext): SubtaskItem | CommentItem =>
  staged.kind === 'leaf'
    ? subtaskOf(staged.item, context, staged.item.list === task.item.list).subtask
    : staged.item

/** A child without a time gets the time of its task. Children of the same time have the order of the file. */
function idOf(
  { n, key }: StagedChild,
  item: SubtaskItem | CommentItem,
  task: StagedTask,
  taskId: string,
  { source }: StepContext,
  existing: ExistingChildren,
  createdAt?: string,
): string {
  const tail = childTail(taskId, source, item.kind, key)
  const csvTail = item.csvKey && childTail(taskId, 'csv', item.kind, item.csvKey)
  const own = source === 'docket' && isId(item.key ?? '') ? item.key! : undefined
  const ms = own ? msOf(own) : timeOf(item, taskId, createdAt)
  const isExported = source === 'csv' && task.item.isExported === true
  return (
    existing.find(own ?? '') ??
    existing.find(tail) ??
    existing.find(csvTail ?? '') ??
    (isExported ? existing.findContent(taskId, item, key) : undefined) ??
    childId(ms + (n >> 12), n, tail)
  )
}

/** Subtasks without a time get the time of their task. A later subtask with a time must not come before them. */
function timeOf(item: SubtaskItem | CommentItem, taskId: string, createdAt?: string): number {
  if ('orderMs' in item) return Math.max(item.orderMs!, msOf(taskId))
  return createdAt ? Date.parse(createdAt) : msOf(taskId)
}
