import { externalIdOf } from '../../../modules/imports/convert/keys.ts'
import { Notes } from '../../../modules/imports/convert/notes.ts'
import { convertTask } from '../../../modules/imports/convert/task.ts'
import type { TaskOperation } from '../../../modules/imports/command/operations.ts'
import { isId } from '../../../src/id-format.ts'
import { runBatches } from '../batches/batches.ts'
import type { PreparedRow } from '../batches/prepared-row.ts'
import { type Blockers, divideBlockers, readBlockers } from './blockers.ts'
import { lastOf, readTasks, type StagedTask } from './items.ts'
import { countTasks, storeItems } from '../batches/outcomes.ts'
import { endStep } from '../run/progress.ts'
import { readColumns, readContext, type StepContext } from './project-data.ts'
import type { Run } from '../run/run.ts'

type PreparedTask = PreparedRow & { kind: 'task'; operation?: TaskOperation }

export async function importTasks(run: Run): Promise<void> {
  const { sql, running } = run
  const [context, columns] = await Promise.all([readContext(run), readColumns(sql, running.id)])
  await runBatches<PreparedTask>(run, {
    step: 'tasks',
    last: await lastOf(sql, running.id, 'task'),
    async prepare(after) {
      const staged = await readTasks(sql, running.id, after, run.batchRows)
      const blockers = await readBlockers(
        run,
        staged.map(({ item }) => item.blockedBy ?? []),
      )
      return staged.map((one) => prepareTask(one, context, blockers, columns))
    },
    prelude: (prepared) => neededBy(prepared, context),
    store: (tx, finished) =>
      Promise.all([storeItems(tx, running.id, finished), countTasks(tx, running.id, finished)]),
  })
  await endStep(run, 'tasks')
}

function prepareTask(
  staged: StagedTask,
  context: StepContext,
  blockers: Blockers,
  columns?: string[],
): PreparedTask {
  const { n, row, key, id, item, firstRow } = staged
  const externalId = externalIdOf(context.source, { key, externalId: item.externalId })
  const notes = new Notes(item.messages)
  const prepared: PreparedTask = { kind: 'task', n, row, externalId, notes }
  const problem = firstRow === null ? item.problem : `Row ${firstRow} has the same id`
  if (problem) {
    notes.report(problem)
    return { ...prepared, outcome: 'rejected' }
  }
  noteReferences(staged, blockers, notes)
  notes.addReported(item.subtaskNotes ?? [])
  const ownId = item.isExported && isId(key) ? key : undefined
  const { number } = item
  const fieldKeys = ownId && columns?.flatMap((name) => /^field\.(.*)$/.exec(name)?.[1] ?? [])
  const ids = {
    id,
    externalId,
    ...(ownId && { ownId }),
    ...(number && { number }),
    ...(fieldKeys && { fieldKeys }),
  }
  const operation = { op: 'task' as const, ...ids, ...convertTask(item, context, notes) }
  return { ...prepared, operation }
}

/** Adds the parent and the blockers that tasks cannot have to the foot of the description. */
function noteReferences(
  { key, item, parent, parentTitle }: StagedTask,
  blockers: Blockers,
  notes: Notes,
): void {
  if (parentTitle !== null)
    notes.report(
      `The sub-item of "${parentTitle}" became a task, because it has sub-items, comments or a description`,
    )
  else if (parent !== null) notes.addToFoot(`Parent: ${parent}`, `The parent "${parent}" is not in the file`)
  for (const { key: blocker, reason } of divideBlockers(key, item.blockedBy ?? [], blockers).others)
    notes.addToFoot(`Blocked by: ${blocker}`, `The blocker ${blocker} ${reason}`)
}

function neededBy(prepared: PreparedTask[], { uncommitted }: StepContext) {
  const names = prepared.flatMap(({ operation }) =>
    operation ? [...(operation.values.labelIds ?? []), ...Object.keys(operation.values.fields ?? {})] : [],
  )
  return [...new Set(names)].flatMap((name) => uncommitted.get(name) ?? [])
}
