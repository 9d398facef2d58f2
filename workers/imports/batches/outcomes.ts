import type { Sql } from '../../../src/postgres/database.ts'
import { forEachPage } from '../../throttle.ts'
import type { Run } from '../run/run.ts'
import type { FinishedRow, Outcome, PreparedRow } from './prepared-row.ts'

/** Stores the outcomes and ids of tasks, labels and fields. A created row has the id of its item already. */
export async function storeItems(
  tx: Sql,
  importId: string,
  finished: FinishedRow<PreparedRow & { kind: string }>[],
): Promise<void> {
  const changed = finished.filter(({ outcome }) => outcome !== 'created')
  if (changed.length === 0) return
  await tx`
    update import_items i set id = coalesce(nullif(q.id, '')::uuid, i.id), outcome = q.outcome
    from unnest(${changed.map(({ kind }) => kind)}::text[], ${changed.map(({ n }) => n)}::bigint[],
      ${changed.map(({ id }) => id ?? '')}::text[], ${changed.map(({ outcome }) => outcome)}::text[]) q(kind, n, id, outcome)
    where i.import_id = ${importId} and i.kind = q.kind and i.n = q.n`
}

/** Counts the items that are tasks. */
export const countRead = (tx: Sql, importId: string) => tx`
  update imports set read = (select count(*) from import_items where import_id = ${importId} and kind = 'task')
  where id = ${importId}`

type Counts = Record<Outcome, number>

export async function countTasks(
  tx: Sql,
  importId: string,
  finished: Pick<FinishedRow, 'outcome'>[],
): Promise<void> {
  const counts: Counts = { created: 0, updated: 0, unchanged: 0, rejected: 0 }
  for (const { outcome } of finished) counts[outcome]++
  await tx`
    update imports set created = created + ${counts.created}, updated = updated + ${counts.updated},
      unchanged = unchanged + ${counts.unchanged}, rejected = rejected + ${counts.rejected} where id = ${importId}`
}

/** Returns the tasks whose children or links changed. */
export const changedTasks = (finished: FinishedRow<PreparedRow & { taskN: number | null }>[]): number[] =>
  finished.flatMap(({ taskN, outcome }) =>
    taskN !== null && (outcome === 'created' || outcome === 'updated') ? taskN : [],
  )

/** Counts unchanged tasks as updated, because their children changed. */
export async function countChangedTasks(tx: Sql, importId: string, ns: number[]): Promise<void> {
  if (ns.length === 0) return
  const changed = await tx`
    update import_items set outcome = 'updated'
    where import_id = ${importId} and kind = 'task' and n = any(${ns}::bigint[]) and outcome = 'unchanged' returning n`
  if (changed.length > 0)
    await tx`
      update imports set updated = updated + ${changed.length}, unchanged = unchanged - ${changed.length}
      where id = ${importId}`
}

/**
 * Corrects the outcome of tasks in the report: `updated` if only their children or links changed.
 * @param pageTasks the most tasks of a statement, which also reads all lines of the import
 */
export function reportChangedTasks(
  { sql, running: { id, source }, throttle }: Pick<Run, 'sql' | 'running' | 'throttle'>,
  pageTasks = 20_000,
): Promise<void> {
  // A new slice would begin again.
  return forEachPage({ ...throttle, isOver: throttle.isStopping }, -1, async (after) => {
    const [page] = await sql<{ rows: number; last: number }[]>`
      with tasks as materialized (
        select n, row, key, item, outcome from import_items
        where import_id = ${id} and kind = 'task' and n > ${after} order by n limit ${pageTasks}),
      reported as (
        update import_lines l set outcome = 'updated' from tasks t
        where l.import_id = ${id} and l.outcome = 'unchanged' and t.outcome = 'updated'
          and t.row = l.row and coalesce(t.item ->> 'externalId', ${`${source}:`} || t.key) = l.external_id)
      select count(*)::int4 as rows, max(n) as last from tasks`
    return page!.rows === pageTasks ? page!.last : undefined
  })
}
