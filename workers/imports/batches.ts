import {
  type ImportedRows,
  type ImportOperation,
  type ImportResult,
  importRows,
} from '../../modules/imports/command.ts'
import type { Notes } from '../../modules/imports/convert/record.ts'
import { storableValue } from '../../modules/imports/convert/texts.ts'
import type { ReportLine } from '../../modules/imports/schema.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { forEachPage, type Throttle } from '../throttle.ts'
import { moveCursor, type Run } from './import-row.ts'

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
  /** The number of the task, for a part of a task. */
  taskN?: number
}

type FinishedRow = PreparedRow & { outcome: Outcome; id?: string }

interface Batches<Row extends { n: number }> {
  read(after: number): Promise<Row[]>
  prepare(rows: Row[]): Promise<PreparedRow[]>
  /** In a dry run: operations that the project must have executed before those of the rows. */
  before?(operations: ImportOperation[]): ImportOperation[]
}

/** Writes pages. Reads each page while the page before it is written. */
export async function writePages<Page>(
  throttle: Throttle,
  pages: AsyncGenerator<Page, void>,
  write: (page: Page) => Promise<unknown>,
): Promise<void> {
  let next = pages.next()
  await forEachPage(throttle, true, async () => {
    const page = await next
    if (page.done) return undefined
    next = pages.next()
    // Prevents an unhandled rejection: the next page throws the same error.
    next.catch(() => {})
    await write(page.value)
    return true
  })
}

/** Runs a step in batches. An interrupted batch may run again, and then changes nothing. */
export async function runBatches<Row extends { n: number }>(run: Run, spec: Batches<Row>): Promise<void> {
  async function* pages() {
    let { n } = run.cursor
    for (let rows = await spec.read(n); rows.length > 0; rows = await spec.read(n)) {
      n = rows.at(-1)!.n
      yield { prepared: await spec.prepare(rows), n }
    }
  }
  await writePages(run.throttle, pages(), async ({ prepared, n }) => {
    const { finished, batch } = await runOperations(run, prepared, spec.before)
    await moveCursor(run, { ...run.cursor, n }, (tx) => storeFinished(tx, run.id, finished, batch))
  })
}

/** Runs the operations of rows in one command, and returns the rows with their outcomes. */
async function runOperations(
  run: Run,
  prepared: PreparedRow[],
  beforeOf: Batches<never>['before'] = () => [],
): Promise<{ finished: FinishedRow[]; batch?: number }> {
  const operations = prepared.flatMap(({ operation }) => operation ?? [])
  if (operations.length === 0) return { finished: prepared as FinishedRow[] }
  const part = `${run.cursor.step} ${prepared[0]!.n}-${prepared.at(-1)!.n}`
  const before = run.dryRun ? beforeOf(operations) : []
  const { batch, results } = await runCommand(run, part, [...before, ...operations])
  let next = before.length
  const finished = prepared.map((one) => {
    if (!one.operation) return one as FinishedRow
    const { outcome, id, message } = results[next++]!
    // Without task numbers, which a dry run cannot know, and without the name of the field.
    const text = message?.replace(/#\d+ (?=")/g, '').replace(/^(addBlockedByIds|blockedByIds)/, 'they')
    if (text) one.notes.report(one.subject ? `${one.subject}: ${text}` : text)
    return { ...one, outcome, id }
  })
  return { finished, batch }
}

/**
 * A repeated batch gets the stored reply, even if the caller has lost the role since the first attempt, whose worker
 * was killed.
 */
async function runCommand(
  { services, id, projectId, caller, dryRun }: Run,
  part: string,
  operations: ImportOperation[],
): Promise<ImportedRows> {
  const request = { name: importRows.name, caller, input: { projectId, dryRun, operations } }
  if (dryRun) return JSON.parse((await services.runHere(request)).body)
  const guard = { scope, key: `${id} ${part}`, fingerprint: '' }
  const { body } = await services.withIdempotency(guard, () => services.runHere({ ...request, guard }))
  return JSON.parse(body)
}

/** The scope of the keys under which the replies to batches are stored. */
const scope = 'imports'

/**
 * Records batches that an ended import has committed, but not recorded, because its worker was killed between the two.
 * The stored replies contain the numbers of the batches. A repeated batch with other operations has a second reply.
 */
export async function recordCommitted(sql: Sql, importId: string): Promise<void> {
  // The keys begin with the id and a space. A space sorts before letters in every collation.
  const afterKeys = `${importId}z`
  await sql`
    with ended as materialized (
      select id from imports where id = ${importId} and state in ('done', 'cancelled', 'failed') and not dry_run for update)
    insert into import_batches (import_id, seq)
    select ended.id, r.batch::bigint from ended
    cross join lateral (select substring(left(k.body, 40) from '^{"batch":([0-9]+)') as batch from idempotency_keys k
      where k.scope = ${scope} and k.key > ${importId} and k.key < ${afterKeys}) r
    where r.batch is not null
    on conflict do nothing`
}

/** Stores what a command has done: its batch, the lines of rows that were not imported exactly, and outcomes. */
async function storeFinished(tx: Sql, importId: string, finished: FinishedRow[], batch?: number) {
  const lines = finished.flatMap(({ row, externalId, outcome, rowOutcome = outcome, notes: { message } }) =>
    message || outcome === 'rejected' ? { row, externalId, outcome: rowOutcome, message } : [],
  )
  await insertLines(tx, importId, lines)
  const tasks = finished.filter(({ kind }) => kind === 'task')
  const others = finished.filter(({ taskN, outcome }) => taskN === undefined && outcome !== 'created')
  const isChanged = ({ outcome }: FinishedRow) => outcome === 'created' || outcome === 'updated'
  const changed = finished.filter(isChanged).flatMap(({ taskN }) => taskN ?? [])
  // The statements are sent together.
  return Promise.all([
    batch !== undefined &&
      tx`insert into import_batches (import_id, seq) values (${importId}, ${batch}) on conflict do nothing`,
    tasks.length > 0 && countTasks(tx, importId, tasks),
    others.length > 0 && storeOutcomes(tx, importId, others),
    changed.length > 0 && countChangedTasks(tx, importId, changed),
  ])
}

function countTasks(tx: Sql, importId: string, tasks: FinishedRow[]) {
  const countOf = (wanted: Outcome) => tasks.filter(({ outcome }) => outcome === wanted).length
  return tx`
    update imports set created = created + ${countOf('created')}, updated = updated + ${countOf('updated')},
      unchanged = unchanged + ${countOf('unchanged')}, rejected = rejected + ${countOf('rejected')} where id = ${importId}`
}

/** Stores the outcomes and ids of tasks, labels and fields. A created row has the id of its item already. */
const storeOutcomes = (tx: Sql, importId: string, rows: FinishedRow[]) => tx`
  update import_items i set id = coalesce(q.id, i.id), outcome = q.outcome
  from jsonb_to_recordset(${JSON.stringify(rows.map(({ kind, n, id, outcome }) => ({ kind, n, id, outcome })))}::text::jsonb)
    q(kind text, n int4, id uuid, outcome text)
  where i.import_id = ${importId} and i.kind = q.kind and i.n = q.n`

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

/** A report has at most this many lines, each of up to 2 KB, and as many `kept` lines of an undo. */
export const maxLines = 10_000
/** The maximum number of lines of all reports of an account. */
const maxLinesOfAccount = 50_000

const leftOut = ' further lines are left out'

/** Adds lines to a report, up to the line `max`. One more line counts the lines that are left out. */
export async function insertLines(
  tx: Sql,
  importId: string,
  lines: Omit<ReportLine, 'n'>[],
  max = maxLines,
): Promise<void> {
  if (lines.length === 0) return
  const [stored] = await tx<{ last: number }[]>`
    select coalesce(max(n), 0) as last from import_lines where import_id = ${importId} and n <= ${max}`
  const fitting = lines.slice(0, max - stored!.last).map((line, i) => ({ ...line, n: stored!.last + i + 1 }))
  await tx`
    insert into import_lines (import_id, n, row, external_id, outcome, message)
    select ${importId}, r.* from jsonb_to_recordset(${JSON.stringify(storableValue(fitting))}::text::jsonb)
      r(n int4, row int4, "externalId" text, outcome text, message text)`
  const others = lines.length - fitting.length
  const reason = `${leftOut}, because a report has at most ${max} lines`
  if (others > 0)
    await tx`
      insert into import_lines (import_id, n, outcome, message)
      values (${importId}, ${max + 1}, ${lines[0]!.outcome}, ${others}::int4 || ${reason}::text)
      on conflict (import_id, n) do update set message =
        substring(import_lines.message from '^[0-9]+')::int8 + ${others}::int4 || ${reason}::text`
}

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
        select count(*) as lines from import_lines where import_id = i.id and n > 0 and outcome <> 'kept') r
      where i.caller ->> 'userId' = (select caller ->> 'userId' from imports where id = ${importId})),
    trimmed as (
      delete from import_lines l using reports r
      where l.import_id = r.id and r.id < ${importId} and r.total > ${maxLinesOfAccount}::int4 and n > 0 and outcome <> 'kept'
      returning l.import_id)
    insert into import_lines (import_id, n, outcome, message)
    select import_id, 0, 'rejected', count(*) || ${reason} from trimmed group by import_id on conflict do nothing`
}
