import { Notes } from '../../../modules/imports/convert/notes.ts'
import type { PlaceOperation } from '../../../modules/imports/command/operations.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import { runBatches } from '../batches/batches.ts'
import type { PreparedRow } from '../batches/prepared-row.ts'
import { endStep } from '../run/progress.ts'
import type { Run } from '../run/run.ts'
import { lastOf } from './items.ts'

/** Moves the new tasks whose order in the file is not the order of their numbers. */
export async function orderTasks(run: Run): Promise<void> {
  const { sql, running } = run
  if (!running.dryRun)
    await runBatches<PreparedRow>(run, {
      step: 'order',
      last: await lastOf(sql, running.id, 'order'),
      prepare: async (after) => (await readPlaces(sql, running.id, after, run.batchRows)).map(preparePlace),
      store: async () => {},
    })
  await endStep(run, 'order')
}

interface Place {
  n: number
  row: number
  externalId: string
  /** Null if the import did not create the task. */
  taskId: string | null
  /** The task before this task. Null if that task was rejected. */
  afterId: string | null
  isFirst: boolean
}

function preparePlace({ n, row, externalId, taskId, afterId, isFirst }: Place): PreparedRow {
  const prepared = { n, row, externalId, notes: new Notes() }
  if (!taskId || (!afterId && !isFirst)) return { ...prepared, outcome: 'unchanged' }
  const operation: PlaceOperation = { op: 'place', taskId, ...(afterId && { after: afterId }) }
  return { ...prepared, operation }
}

const readPlaces = (sql: Sql, importId: string, after: number, limit: number) => sql<Place[]>`
  select i.n, i.row, t.item ->> 'externalId' as external_id, case when t.outcome is null then t.id end as task_id,
    p.id as after_id, i.item #>> '{}' = '' as is_first
  from import_items i
  join lateral (select * from import_items t
    where t.import_id = i.import_id and t.kind = 'task' and t.key = i.key order by t.n limit 1) t on t.row = i.row
  left join lateral (select * from import_items p
    where p.import_id = i.import_id and p.kind = 'task' and p.key = i.item #>> '{}' order by p.n limit 1) p
    on coalesce(p.outcome, 'created') <> 'rejected'
  where i.import_id = ${importId} and i.kind = 'order' and i.n > ${after} order by i.n limit ${limit}`
