import { counter, type Family, gauge } from '../../src/metrics/family.ts'
import type { Counts } from '../../src/metrics/counts.ts'
import type { Sql } from '../../src/postgres/database.ts'

const help = {
  active: 'Imports that wait or run, and undos of imports.',
  wait: 'Age of the oldest import that waits for a worker.',
  rows: 'Rows of files that this worker has imported or rejected.',
  failed: 'Imports that this worker ended as failed.',
}

export async function importFamilies(sql: Sql, { imports }: Pick<Counts, 'imports'>): Promise<Family[]> {
  const [row] = await sql<{ active: number; wait: number }[]>`
    select count(*)::int4 as active,
      coalesce(extract(epoch from now() - min(created_at) filter (where state = 'queued'))::float8, 0) as wait
    from imports where state in ('queued', 'running') or undo_state in ('queued', 'running')`
  return [
    gauge('imports_active', help.active, row!.active),
    gauge('import_wait_seconds', help.wait, row!.wait),
    counter('import_rows_total', help.rows, imports.rows),
    counter('imports_failed_total', help.failed, imports.failed),
  ]
}
