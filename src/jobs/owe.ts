import type { Sql } from '../postgres/database.ts'
import type { OwedJob } from './queue.ts'

/** The part of a statement that writes a job to the outbox, if the part `done` returns a row. */
export function owe(sql: Sql, job?: OwedJob) {
  if (!job) return sql`select`
  const { id, projectId, name, data } = job
  return sql`insert into outbox (id, project_id, name, data, created_at)
    select ${id}::uuid, ${projectId}::uuid, ${name}, ${JSON.stringify(data)}::text::jsonb, now() from done`
}
