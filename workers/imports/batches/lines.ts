import type { Sql } from '../../../src/postgres/database.ts'
import { type Throttle, whilePagesAreFull } from '../../throttle.ts'

export interface NewLine {
  row: number | null
  externalId: string | null
  outcome: string
  message: string
}

/** A report has at most this many lines, and as many `kept` lines of an undo. A line takes up to 2 KB. */
const maxLines = 10_000
/** The most lines of all reports of an account. */
const maxLinesOfAccount = 50_000
/** The numbers of `kept` lines follow this number, so that they are the last lines of a report. */
const keptFrom = 1_000_000_000

const leftOut = ' further lines are left out'

/** Stores the first lines of a report. One more line counts the lines that are left out. */
export async function insertLines(
  tx: Sql,
  importId: string,
  lines: NewLine[],
  { from = 0, max = maxLines } = {},
): Promise<void> {
  if (lines.length === 0) return
  const end = from + max
  const reason = `${leftOut}, because a report has at most ${max} lines`
  await tx`
    with stored as materialized (
      select coalesce(max(n), ${from}::int4) as last from import_lines
      where import_id = ${importId} and n > ${from}::int4 and n <= ${end}::int4),
    inserted as (
      insert into import_lines (import_id, n, row, external_id, outcome, message)
      select ${importId}, last + q.n, nullif(q.row, 0), nullif(q.external_id, ''), q.outcome, q.message
      from stored, unnest(${lines.map(({ row }) => row ?? 0)}::bigint[], ${lines.map(({ externalId }) => externalId ?? '')}::text[],
        ${lines.map(({ outcome }) => outcome)}::text[], ${lines.map(({ message }) => message)}::text[])
        with ordinality q(row, external_id, outcome, message, n)
      where last + q.n <= ${end}::int4)
    insert into import_lines (import_id, n, outcome, message)
    select ${importId}, ${end + 1}::int4, ${lines[0]!.outcome}, last + ${lines.length}::int4 - ${end}::int4 || ${reason}::text
    from stored where last + ${lines.length}::int4 > ${end}::int4
    on conflict (import_id, n) do update set message =
      coalesce(substring(import_lines.message from '^[0-9]+')::int8, 0) + substring(excluded.message from '^[0-9]+')::int8
      || ${reason}::text`
}

/** The lines of an undo. */
export const insertKept = (tx: Sql, importId: string, lines: NewLine[], max = maxLines): Promise<void> =>
  insertLines(tx, importId, lines, { from: keptFrom, max })

/**
 * Replaces the oldest reports of the account by one line each, if the reports of the account have too many lines.
 * `kept` lines remain, because a further undo needs them.
 */
export async function trimReports(
  sql: Sql,
  importId: string,
  throttle: Throttle,
  max = maxLinesOfAccount,
): Promise<void> {
  const oldest = await sql<{ id: string; lines: number }[]>`
    select id, lines from (
      select i.id, r.lines, sum(r.lines) over (order by i.id desc) as total from imports i
      cross join lateral (
        select count(*)::int4 as lines from import_lines where import_id = i.id and n > 0 and n <= ${keptFrom}::int4) r
      where i.caller ->> 'userId' = (select caller ->> 'userId' from imports where id = ${importId})) i
    where total > ${max}::int4 and lines > 0 and id < ${importId}`
  for (const { id, lines } of oldest) {
    const message = `${lines}${leftOut}, because the reports of an account have at most ${max} lines. The latest reports are kept`
    await sql`
      insert into import_lines (import_id, n, outcome, message) values (${id}, 0, 'rejected', ${message})
      on conflict do nothing`
    await whilePagesAreFull(throttle, async () => {
      const { count } = await sql`
        delete from import_lines where import_id = ${id} and n = any(array(
          select n from import_lines where import_id = ${id} and n > 0 and n <= ${keptFrom}::int4
          order by n limit ${throttle.batchRows}))`
      return count
    })
  }
}

/** A repeated batch has the same seq, and inserts nothing. */
export async function insertBatches(tx: Sql, importId: string, batches: number[]): Promise<void> {
  for (const seq of batches)
    await tx`insert into import_batches (import_id, seq) values (${importId}, ${seq}) on conflict do nothing`
}
