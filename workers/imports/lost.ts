import type { Sql } from '../../src/postgres/database.ts'
import type { Throttle } from '../throttle.ts'
import { deleteUpload } from './remove.ts'
import { withUndoError } from './undo/undo-import.ts'

/** Ends imports whose job became a dead letter or is lost. */
export async function endLostImports(sql: Sql, throttle: Throttle): Promise<void> {
  await sql`
    update imports i set undo_state = 'failed', error = ${withUndoError(sql, reason(sql, 'undo-import'))}
    where undo_state in ('queued', 'running') and ${hasNoJob(sql, 'undo-import')}`
  const lost = await sql<{ id: string }[]>`
    update imports i set state = 'failed', finished_at = now(), error = ${reason(sql, 'run-import')}
    where state in ('queued', 'running') and ${hasNoJob(sql, 'run-import')} returning id`
  for (const { id } of lost) await deleteUpload(sql, id, throttle)
}

const hasNoJob = (sql: Sql, name: string) => sql`not exists (
  select from outbox o where o.project_id = i.project_id and o.name = ${name} and o.data ->> 'importId' = i.id::text
    and o.parked_at is null)`

const reason = (sql: Sql, name: string) => sql`'The worker failed at each attempt' || coalesce((
  select ': ' || o.error from outbox o where o.project_id = i.project_id and o.name = ${name}
    and o.data ->> 'importId' = i.id::text limit 1), '')`
