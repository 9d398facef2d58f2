import { externalIdOf } from '../../../modules/imports/plan/keys.ts'
import { Notes } from '../../../modules/imports/plan/notes.ts'
import type { LinksOperation } from '../../../modules/imports/command/operations.ts'
import { runBatches } from '../batches/batches.ts'
import { changedTasks, countChangedTasks, reportChangedTasks } from '../batches/outcomes.ts'
import type { Planned } from '../batches/planned.ts'
import { endStep } from '../run/progress.ts'
import type { Run } from '../run/run.ts'
import { lastOf } from './items.ts'
import { type Blockers, maxBlockers, readBlockers, readLinks, type StagedLinks } from './linked-tasks.ts'
import { uncommittedLinks } from './uncommitted-links.ts'

type PlannedLinks = Planned & { taskN: number; operation?: LinksOperation }

export async function importLinks(run: Run): Promise<void> {
  const { sql, row } = run
  await runBatches<PlannedLinks>(run, {
    step: 'links',
    last: await lastOf(sql, row.id, 'links'),
    async plan(after) {
      const links = await readLinks(sql, row.id, after, run.batchRows)
      const blockers = await readBlockers(sql, row.id, links)
      return links.map((one) => planOf(one, blockers, run))
    },
    prelude: (planned) => uncommittedLinks(run, planned),
    store: (tx, decided) => countChangedTasks(tx, row.id, changedTasks(decided)),
  })
  await endStep(run, 'links', (tx) => reportChangedTasks(tx, row))
}

function planOf(links: StagedLinks, blockers: Blockers, { row: { source } }: Run): PlannedLinks {
  const { n, row, key, keys, taskN, taskId, externalId, taskOutcome: rowOutcome, isImported } = links
  const notes = new Notes()
  const planned = {
    ...{ n, row, taskN, notes, rowOutcome, externalId: externalIdOf(source, { key, externalId }) },
    subject: 'The blockers were left out',
  }
  // The report already has a line for the rejected task, or for the subtask.
  if (!isImported) return { ...planned, outcome: 'unchanged' }
  const ids = new Set<string>()
  for (const blocker of new Set(keys)) {
    const { id, reason } = blockers.get(blocker) ?? { reason: 'is not in the file' }
    if (id === taskId) notes.list('The task cannot block itself')
    else if (!id) notes.list(`The blocker ${blocker} ${reason}`)
    else if (ids.size === maxBlockers)
      notes.list(`The blocker ${blocker} was left out: a task can have ${maxBlockers} blockers`)
    else ids.add(id)
  }
  if (ids.size === 0) return { ...planned, outcome: 'unchanged' }
  return { ...planned, operation: { op: 'links', taskId, blockedByIds: [...ids] } }
}
