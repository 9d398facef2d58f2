import { externalIdOf } from '../../../modules/imports/convert/keys.ts'
import { Notes } from '../../../modules/imports/convert/notes.ts'
import type { LinksOperation } from '../../../modules/imports/command/operations.ts'
import { runBatches } from '../batches/batches.ts'
import { changedTasks, countChangedTasks, reportChangedTasks } from '../batches/outcomes.ts'
import type { PreparedRow } from '../batches/prepared-row.ts'
import { endStep } from '../run/progress.ts'
import type { Run } from '../run/run.ts'
import { type Blockers, divideBlockers, readBlockers } from './blockers.ts'
import { lastOf } from './items.ts'
import { readLinks, type StagedLinks } from './linked-tasks.ts'
import { uncommittedLinks } from './uncommitted-links.ts'

type PreparedLinks = PreparedRow & { taskN: number; operation?: LinksOperation }

export async function importLinks(run: Run): Promise<void> {
  const { sql, running } = run
  await runBatches<PreparedLinks>(run, {
    step: 'links',
    last: await lastOf(sql, running.id, 'links'),
    async prepare(after) {
      const links = await readLinks(sql, running.id, after, run.batchRows)
      const blockers = await readBlockers(
        run,
        links.map((one) => one.keys),
      )
      return links.map((one) => prepareLinks(one, blockers, run))
    },
    prelude: (prepared) => uncommittedLinks(run, prepared),
    store: (tx, finished) => countChangedTasks(tx, running.id, changedTasks(finished)),
  })
  await reportChangedTasks(run)
  await endStep(run, 'links')
}

function prepareLinks(links: StagedLinks, blockers: Blockers, { running: { source } }: Run): PreparedLinks {
  const { n, row, key, keys, taskN, taskId, externalId, taskOutcome: rowOutcome, isImported } = links
  const notes = new Notes()
  const prepared = {
    ...{ n, row, taskN, notes, rowOutcome, externalId: externalIdOf(source, { key, externalId }) },
    subject: 'The blockers were left out',
  }
  // The report already has a line for the rejected task, or for the subtask.
  if (!isImported) return { ...prepared, outcome: 'unchanged' }
  const ids = new Set<string>()
  // The step `tasks` has reported the other blockers.
  for (const blocker of divideBlockers(key, keys, blockers).linked) {
    const { id, reason } = blockers.get(blocker)!
    if (id === taskId) notes.report('The task cannot block itself')
    else if (id) ids.add(id)
    else notes.report(`The blocker ${blocker} ${reason}`)
  }
  if (ids.size === 0) return { ...prepared, outcome: 'unchanged' }
  return { ...prepared, operation: { op: 'links', taskId, blockedByIds: [...ids] } }
}
