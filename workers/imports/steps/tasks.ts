import type { TaskItem } from '../../../modules/imports/items.ts'
import { externalIdOf } from '../../../modules/imports/plan/keys.ts'
import { Notes } from '../../../modules/imports/plan/notes.ts'
import { previousOf } from '../../../modules/imports/plan/previous.ts'
import { planTask } from '../../../modules/imports/plan/task.ts'
import type { TaskOperation } from '../../../modules/imports/command/operations.ts'
import { isId } from '../../../src/id-format.ts'
import { runBatches } from '../batches/batches.ts'
import type { Planned } from '../batches/planned.ts'
import { lastOf, readTasks, type StagedTask } from './items.ts'
import { countTasks, storeItems } from '../batches/outcomes.ts'
import { endStep } from '../run/progress.ts'
import { isRepeated, readColumns, readImported } from './imported-values.ts'
import { readContext, type StepContext } from './project-data.ts'
import type { Run } from '../run/run.ts'

type PlannedTask = Planned & { kind: 'task'; item: TaskItem; operation?: TaskOperation }

export async function importTasks(run: Run): Promise<void> {
  const { sql, row } = run
  const [context, isAgain] = [await readContext(run), await isRepeated(sql, row)]
  const columns = isAgain ? await readColumns(sql, row) : undefined
  await runBatches<PlannedTask>(run, {
    step: 'tasks',
    last: await lastOf(sql, row.id, 'task'),
    async plan(after) {
      const planned = (await readTasks(sql, row.id, after, run.batchRows)).map((one) => planOf(one, context))
      if (isAgain) await addPrevious(run, planned, columns)
      return planned
    },
    prelude: (planned) => neededBy(planned, context),
    store: (tx, decided) => Promise.all([storeItems(tx, row.id, decided), countTasks(tx, row.id, decided)]),
  })
  await endStep(run, 'tasks')
}

async function addPrevious({ sql, row }: Run, planned: PlannedTask[], columns?: string[]): Promise<void> {
  const ids = planned.flatMap(({ operation }) => operation?.externalId ?? [])
  const imported = await readImported(sql, row, ids)
  for (const { operation, item } of planned) {
    const previous =
      operation &&
      !item.isExported &&
      previousOf(item, operation.values, imported.get(operation.externalId), columns)
    if (previous) operation.previous = previous
  }
}

function planOf(
  { n, row, key, id, item, parent, firstRow, parentTitle }: StagedTask,
  context: StepContext,
): PlannedTask {
  const externalId = externalIdOf(context.source, { key, externalId: item.externalId })
  const notes = new Notes(item.messages)
  const planned: PlannedTask = { kind: 'task', n, row, externalId, notes, item }
  const problem = firstRow === null ? item.problem : `Row ${firstRow} has the same id`
  if (problem) {
    notes.list(problem)
    return { ...planned, outcome: 'rejected' }
  }
  if (parentTitle !== null)
    notes.list(
      `The sub-item of "${parentTitle}" became a task, because it has sub-items, comments or a description`,
    )
  else if (parent !== null) notes.list(`The parent "${parent}" is not in the file`)
  for (const line of item.subtaskNotes ?? []) notes.foot.push(line)
  const ownId = item.isExported && isId(key) ? key : undefined
  const { number } = item
  const ids = { id, externalId, ...(ownId && { ownId }), ...(number && { number }) }
  const operation = { op: 'task' as const, ...ids, ...planTask(item, context, notes) }
  return { ...planned, operation }
}

function neededBy(planned: PlannedTask[], { uncommitted }: StepContext) {
  const names = planned.flatMap(({ operation }) =>
    operation ? [...(operation.values.labelIds ?? []), ...Object.keys(operation.values.fields ?? {})] : [],
  )
  return [...new Set(names)].flatMap((name) => uncommitted.get(name) ?? [])
}
