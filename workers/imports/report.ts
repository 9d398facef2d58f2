import type { ImportOperation, ImportResult } from '../../modules/imports/command.ts'
import type { Notes } from '../../modules/imports/convert/notes.ts'
import type { Sql } from '../../src/postgres/database.ts'

export type Outcome = ImportResult['outcome']

/** A row of the file, and the operation that imports it. Without an operation the outcome is already known. */
export interface PreparedRow {
  kind: string
  n: number
  row: number | null
  externalId: string | null
  notes: Notes
  /** The start of a rejection's message, such as `The label "bug"`. */
  subject?: string
  operation?: ImportOperation
  outcome?: Outcome
  /** The outcome in the report, if the operation imports only a part of the row. */
  rowOutcome?: Outcome
  /** Of a part of a task: the number of the task. */
  taskN?: number
}

export type FinishedRow = PreparedRow & { outcome: Outcome; id?: string; batch?: number }

interface NewLine {
  row: number | null
  externalId: string | null
  outcome: string
  message: string
}

/** A report has at most this many lines, and as many `kept` lines of an undo. A line takes up to 2 KB. */
const maxLines = 10_000
/** The maximum number of lines of all reports of an account. */
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
export async function trimReports(sql: Sql, importId: string): Promise<void> {
  const reason = `${leftOut}, because the reports of an account have at most ${maxLinesOfAccount} lines. The latest reports are kept`
  await sql`
    with reports as (
      select i.id, sum(r.lines) over (order by i.id desc) as total from imports i
      cross join lateral (
        select count(*) as lines from import_lines where import_id = i.id and n > 0 and n <= ${keptFrom}::int4) r
      where i.caller ->> 'userId' = (select caller ->> 'userId' from imports where id = ${importId})),
    trimmed as (
      delete from import_lines l using reports r
      where l.import_id = r.id and r.id < ${importId} and r.total > ${maxLinesOfAccount}::int4 and n > 0 and n <= ${keptFrom}::int4
      returning l.import_id)
    insert into import_lines (import_id, n, outcome, message)
    select import_id, 0, 'rejected', count(*) || ${reason} from trimmed group by import_id on conflict do nothing`
}

/** Stores what a command has done: its batch, the lines of rows that were not imported exactly, outcomes and counts. */
export function storeFinished(tx: Sql, importId: string, finished: FinishedRow[]): Promise<unknown> {
  // A repeated batch has the same seq.
  const batches = new Set(finished.flatMap(({ batch }) => batch ?? []))
  const lines = finished.filter(({ notes, outcome }) => notes.message || outcome === 'rejected')
  const wholes = finished.filter(({ taskN, outcome }) => taskN === undefined && outcome !== 'created')
  const isChanged = ({ outcome }: FinishedRow) => outcome === 'created' || outcome === 'updated'
  const changed = finished.filter(isChanged).flatMap(({ taskN }) => taskN ?? [])
  // The statements are sent together, in this order.
  return Promise.all([
    ...[...batches].map(
      (seq) =>
        tx`insert into import_batches (import_id, seq) values (${importId}, ${seq}) on conflict do nothing`,
    ),
    insertLines(tx, importId, lines.map(lineOf)),
    wholes.length > 0 && storeOutcomes(tx, importId, wholes),
    countTasks(tx, importId, finished),
    changed.length > 0 && countChangedTasks(tx, importId, changed),
  ])
}

const lineOf = ({ row, externalId, outcome, rowOutcome = outcome, notes: { message } }: FinishedRow) => ({
  ...{ row, externalId, outcome: rowOutcome, message },
})

/** Stores the outcomes and ids of tasks, labels and fields. A created row has the id of its item already. */
const storeOutcomes = (tx: Sql, importId: string, rows: FinishedRow[]) => tx`
    update import_items i set id = coalesce(nullif(q.id, '')::uuid, i.id), outcome = q.outcome
    from unnest(${rows.map(({ kind }) => kind)}::text[], ${rows.map(({ n }) => n)}::bigint[],
      ${rows.map(({ id }) => id ?? '')}::text[], ${rows.map(({ outcome }) => outcome)}::text[]) q(kind, n, id, outcome)
    where i.import_id = ${importId} and i.kind = q.kind and i.n = q.n`

async function countTasks(tx: Sql, importId: string, finished: FinishedRow[]): Promise<void> {
  const counts = { created: 0, updated: 0, unchanged: 0, rejected: 0 }
  const tasks = finished.filter(({ kind }) => kind === 'task')
  for (const { outcome } of tasks) counts[outcome]++
  if (tasks.length > 0)
    await tx`
      update imports set created = created + ${counts.created}, updated = updated + ${counts.updated},
        unchanged = unchanged + ${counts.unchanged}, rejected = rejected + ${counts.rejected} where id = ${importId}`
}

/** Counts and reports unchanged tasks as updated, because their children or links changed. */
const countChangedTasks = (tx: Sql, importId: string, ns: number[]) => tx`
    with changed as (
      update import_items set outcome = 'updated'
      where import_id = ${importId} and kind = 'task' and n = any(${ns}::bigint[]) and outcome = 'unchanged' returning row),
    reported as (
      update import_lines set outcome = 'updated'
      where import_id = ${importId} and outcome = 'unchanged' and row in (select row from changed))
    update imports set updated = updated + c.count, unchanged = unchanged - c.count
    from (select count(*) from changed) c where id = ${importId} and c.count > 0`
