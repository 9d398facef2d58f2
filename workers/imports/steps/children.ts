import type { CommentItem, SubtaskItem } from '../../../modules/imports/items.ts'
import { convertComment, convertSubtask } from '../../../modules/imports/convert/children.ts'
import { childId, childTail, externalIdOf, msOf } from '../../../modules/imports/convert/keys.ts'
import { Notes } from '../../../modules/imports/convert/notes.ts'
import type { CommentOperation, SubtaskOperation } from '../../../modules/imports/command/operations.ts'
import { isId } from '../../../src/id-format.ts'
import { runBatches } from '../batches/batches.ts'
import type { PreparedRow } from '../batches/prepared-row.ts'
import { type TaskOfItem, lastOf, readChildren, type StagedChild } from './items.ts'
import { changedTasks, countChangedTasks } from '../batches/outcomes.ts'
import { endStep } from '../run/progress.ts'
import { type ExistingChildren, readExistingChildren } from './existing-children.ts'
import { readContext, type StepContext } from './project-data.ts'
import type { Run } from '../run/run.ts'

type Item = SubtaskItem | CommentItem
type PreparedChild = PreparedRow & { taskN: number | null }

const steps = { subtask: 'subtasks', comment: 'comments' } as const

export const importSubtasks = (run: Run): Promise<void> => importChildren(run, 'subtask')
export const importComments = (run: Run): Promise<void> => importChildren(run, 'comment')

async function importChildren(run: Run, kind: Item['kind']): Promise<void> {
  const { sql, running } = run
  const step = steps[kind]
  const context = await readContext(run)
  await runBatches<PreparedChild>(run, {
    step,
    last: await lastOf(sql, running.id, kind),
    async prepare(after) {
      const staged = await readChildren(sql, running.id, kind, after, run.batchRows)
      const existing = await readExistingChildren(sql, kind, staged)
      return staged.map((one) => prepareChild(one, context, existing, running.dryRun))
    },
    store: (tx, finished) => countChangedTasks(tx, running.id, changedTasks(finished)),
  })
  await endStep(run, step)
}

function prepareChild(
  staged: StagedChild<Item>,
  context: StepContext,
  existing: ExistingChildren,
  dryRun: boolean,
): PreparedChild {
  const { n, row, item, taskId, taskOutcome, taskN } = staged
  const { kind, task: key } = item
  const externalId = externalIdOf(context.source, { key, externalId: staged.taskExternalId ?? undefined })
  const notes = new Notes(item.messages)
  const prepared: PreparedChild = { n, row, externalId, notes, taskN, subject: `The ${kind}` }
  const problem = problemOf(staged)
  if (problem) notes.report(problem)
  const convert = () =>
    kind === 'subtask' ? convertSubtask(item, context, notes) : convertComment(item, context, notes)
  const fields = problem ? undefined : convert()
  if (!fields) return { ...prepared, outcome: 'rejected' }
  // A dry run has not created the task. The task of a real run accepts every subtask and comment.
  if (dryRun && taskOutcome === 'created') return { ...prepared, outcome: 'created' }
  const id = idOf(staged as StagedChild<Item> & TaskOfItem, context, existing, fields.createdAt)
  const operation = { op: kind, id, taskId, ...fields } as SubtaskOperation | CommentOperation
  return { ...prepared, operation }
}

function problemOf({ item: { kind, task }, taskOutcome, taskN, taskRow, firstRow }: StagedChild<Item>) {
  if (taskN === null) return `The task ${task} of this ${kind} is not in the file`
  if (taskOutcome === 'rejected') return `The task of this ${kind}, in row ${taskRow}, was rejected`
  return firstRow === null ? undefined : `Row ${firstRow} has the same id`
}

/** A child without a time gets the time of its task. Children of the same time have the order of the file. */
function idOf(
  staged: StagedChild<Item> & TaskOfItem,
  { source }: StepContext,
  existing: ExistingChildren,
  createdAt?: string,
): string {
  const { n, key, taskId, item } = staged
  const tail = childTail(taskId, source, item.kind, key)
  const csvTail = item.csvKey && childTail(taskId, 'csv', item.kind, item.csvKey)
  const own = source === 'docket' && isId(item.key ?? '') ? item.key! : undefined
  const ms = own ? msOf(own) : timeOf(item, taskId, createdAt)
  return (
    existing.find(own ?? '') ??
    existing.find(tail) ??
    existing.find(csvTail ?? '') ??
    existing.findExported(source, staged) ??
    childId(ms + (n >> 12), n, tail)
  )
}

/** Subtasks without a time get the time of their task. A later subtask with a time must not come before them. */
function timeOf(item: Item, taskId: string, createdAt?: string): number {
  if ('orderMs' in item) return Math.max(item.orderMs!, msOf(taskId))
  return createdAt ? Date.parse(createdAt) : msOf(taskId)
}
