import type { Sql } from '../../../src/postgres/database.ts'

export interface NewLine {
  row: number | null
  externalId: string | null
  outcome: string
  message: string
}

export async function insertLines(tx: Sql, importId: string, lines: NewLine[]): Promise<void> {
  if (lines.length === 0) return
  await tx`
    insert into import_lines (import_id, n, row, external_id, outcome, message)
    select ${importId}, (select coalesce(max(n), 0) from import_lines where import_id = ${importId}) + q.n,
      nullif(q.row, 0), nullif(q.external_id, ''), q.outcome, q.message
    from unnest(${lines.map(({ row }) => row ?? 0)}::bigint[], ${lines.map(({ externalId }) => externalId ?? '')}::text[],
      ${lines.map(({ outcome }) => outcome)}::text[], ${lines.map(({ message }) => message)}::text[])
      with ordinality q(row, external_id, outcome, message, n)`
}

/** A repeated batch has the same seq, and inserts nothing. */
export async function insertBatches(tx: Sql, importId: string, batches: number[]): Promise<void> {
  for (const seq of batches)
    await tx`insert into import_batches (import_id, seq) values (${importId}, ${seq}) on conflict do nothing`
}
