import type { ReferencesOperation } from '../../modules/imports/command/operations.ts'
import { externalIdOf } from '../../modules/imports/convert/keys.ts'
import { Notes } from '../../modules/imports/convert/notes.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { runBatches } from './batches.ts'
import { type Blockers, divideBlockers, Links, readBlockers } from './blockers.ts'
import { endStep, type Run } from './import-row.ts'
import { countChangedTasks, type Outcome, type PreparedRow, reportChangedTasks } from './report.ts'
import { lastOf, readPage } from './staged.ts'

type PreparedReferences = PreparedRow & { taskN: number }

/** Sets the blockers of tasks, and moves the new tasks whose order in the file is not the order of their numbers. */
export async function importReferences(run: Run): Promise<void> {
  const { sql, running } = run
  const links = new Links()
  const prepare = async (after: number) => {
    const { page } = await readReferences(sql, running.id, after, run.batchRows)
    if (page.length === 0) return undefined
    const blockers = await readBlockers(
      run,
      page.map(({ item }) => item.blockedBy),
    )
    const ids = [...blockers.values()].flatMap(({ id, exists }) => (id && exists ? id : []))
    await links.load(sql, running.projectId, ids)
    return { prepared: page.map((one) => prepareOne(one, blockers, links, run)), end: { n: page.at(-1)!.n } }
  }
  // A dry run has not committed the links of earlier pages.
  if (running.dryRun)
    for (let at = 0; at < running.cursor.n;) at = (await prepare(at))?.end.n ?? Number.MAX_SAFE_INTEGER
  await runBatches<PreparedReferences>(run, {
    step: 'references',
    last: await lastOf(sql, running.id, 'references'),
    prepare: ({ n }) => prepare(n),
    store(tx, finished) {
      const changed = finished.filter(({ outcome }) => outcome === 'updated')
      return countChangedTasks(
        tx,
        running.id,
        changed.map(({ taskN }) => taskN),
      )
    },
  })
  await reportChangedTasks(run)
  await endStep(run, 'references')
}

/** The blockers and the place of a task in the file. */
interface StagedReferences {
  n: number
  row: number
  key: string
  item: { blockedBy: string[]; after?: string }
  taskN: number
  taskId: string
  externalId: string | undefined
  /** Null for a task that the import created. */
  taskOutcome: Outcome | null
  /** The task before this task. Null if it is not in the file, or was rejected. */
  afterId: string | null
}

/** Reads the references of tasks, without those of rejected tasks and of sub-items that became subtasks. */
const readReferences = (sql: Sql, importId: string, after: number, limit: number) =>
  readPage<StagedReferences>(
    sql,
    sql`
      select i.n, i.row, i.key, i.item, t.n as task_n, t.id as task_id, t.item ->> 'externalId' as external_id,
        t.outcome as task_outcome, p.id as after_id
      from import_items i
      join lateral (select * from import_items t
        where t.import_id = i.import_id and t.kind = 'task' and t.key = i.key order by t.n limit 1) t on t.row = i.row
      left join lateral (select * from import_items p
        where p.import_id = i.import_id and p.kind = 'task' and p.key = i.item ->> 'after' order by p.n limit 1) p
        on coalesce(p.outcome, 'created') <> 'rejected'
      where i.import_id = ${importId} and i.kind = 'references' and i.n > ${after}
        and coalesce(t.outcome, 'created') <> 'rejected'
      order by i.n`,
    limit,
  )

function prepareOne(
  references: StagedReferences,
  blockers: Blockers,
  links: Links,
  { running: { source, dryRun } }: Run,
): PreparedReferences {
  const { n, row, key, item, taskN, taskId, externalId, taskOutcome } = references
  const notes = new Notes()
  const prepared: PreparedReferences = {
    ...{ n, row, taskN, notes, rowOutcome: taskOutcome ?? 'created' },
    ...{ externalId: externalIdOf(source, { key, externalId }), subject: 'The blockers were left out' },
  }
  const blockedByIds = new Set<string>()
  let isCommitted = !dryRun || taskOutcome !== null
  // The step `records` has reported the other blockers.
  for (const blocker of divideBlockers(key, item.blockedBy, blockers).linked) {
    const { id, exists, reason } = blockers.get(blocker)!
    if (id === taskId) notes.report('The task cannot block itself')
    else if (!id) notes.report(`The blocker ${blocker} ${reason}`)
    else if (!links.link(taskId, id))
      notes.report(`The blocker ${blocker} was left out, because the blockers would form a cycle`)
    else {
      blockedByIds.add(id)
      isCommitted &&= exists === true
    }
  }
  const place = dryRun ? undefined : placeOf(references)
  if (blockedByIds.size === 0 && place === undefined) return { ...prepared, outcome: 'unchanged' }
  if (!isCommitted) return { ...prepared, outcome: 'updated' }
  const operation: ReferencesOperation = { op: 'references', taskId, blockedByIds: [...blockedByIds] }
  return { ...prepared, operation: { ...operation, ...(place !== undefined && { after: place }) } }
}

/** Returns null for the first task, and undefined for a task that stays where it is. */
function placeOf({ item, taskOutcome, afterId }: StagedReferences): string | null | undefined {
  if (item.after === undefined || taskOutcome !== null) return undefined
  return item.after === '' ? null : (afterId ?? undefined)
}
