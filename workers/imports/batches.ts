import type { ImportStep } from '../../drizzle/schema/imports.ts'
import { type ImportedRows, importRows } from '../../modules/imports/command.ts'
import type { ImportOperation } from '../../modules/imports/command.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { HttpError } from '../../src/responses/errors.ts'
import { forEachPage, type Throttle } from '../throttle.ts'
import { endStep, moveCursor, type Run } from './import-row.ts'
import { type FinishedRow, type PreparedRow, storeFinished } from './report.ts'
import { lastOf, type StagedKind } from './staged.ts'

interface Batches<Row extends { n: number }> {
  step: ImportStep
  kind?: StagedKind
  read(after: number): Promise<Row[]>
  prepare(rows: Row[]): Promise<PreparedRow[]>
  /** In a dry run: operations that the project must have executed before those of the rows. */
  before?(operations: ImportOperation[]): ImportOperation[]
}

/** Writes pages until there is none. Reads each page while the page before it is written. */
export async function writePages<Page>(
  throttle: Throttle,
  read: (before?: Page) => Promise<Page | undefined>,
  write: (page: Page) => Promise<unknown>,
): Promise<void> {
  let next = read()
  await forEachPage(throttle, true, async () => {
    const page = await next
    if (page === undefined) return undefined
    next = read(page)
    // Prevents an unhandled rejection: the next page throws the same error.
    next.catch(() => {})
    await write(page)
    return true
  })
}

/** Runs a step in batches. An interrupted batch may run again, and then changes nothing. */
export async function runBatches<Row extends { n: number }>(run: Run, spec: Batches<Row>): Promise<void> {
  const { running, throttle, services } = run
  const { step, kind } = spec
  const last = kind ? await lastOf(run.sql, running.id, kind) : 1
  const read = async (before: { n: number } = running.cursor) => {
    const rows = await spec.read(before.n)
    return rows.length > 0 ? { prepared: await spec.prepare(rows), n: rows.at(-1)!.n } : undefined
  }
  await writePages(throttle, read, async ({ prepared, n }) => {
    const finished = await runOperations(run, spec, prepared)
    await moveCursor(run, { step, n }, n / last, (tx) => storeFinished(tx, running.id, finished))
    services.counts.imports.rows += prepared.length
  })
  await endStep(run, step)
}

/** Runs the operations of rows in one command, and returns the rows with their outcomes. */
async function runOperations(
  run: Run,
  spec: Pick<Batches<never>, 'step' | 'before'>,
  prepared: PreparedRow[],
): Promise<FinishedRow[]> {
  const operations = prepared.flatMap(({ operation }) => operation ?? [])
  if (operations.length === 0) return prepared as FinishedRow[]
  try {
    const part = `${spec.step} ${prepared[0]!.n}-${prepared.at(-1)!.n}`
    const before = run.running.dryRun ? (spec.before?.(operations) ?? []) : []
    const { batch, results } = await runCommand(run, part, [...before, ...operations])
    const remaining = results.slice(before.length).values()
    return prepared.map((one) =>
      one.operation ? { ...withResult(one, remaining.next().value!), batch } : (one as FinishedRow),
    )
  } catch (error) {
    if (!isRejected(error)) throw error
    const { message } = error
    if (prepared.length === 1) return [withResult(prepared[0]!, { outcome: 'rejected', message })]
    const middle = prepared.length >> 1
    const first = await runOperations(run, spec, prepared.slice(0, middle))
    return [...first, ...(await runOperations(run, spec, prepared.slice(middle)))]
  }
}

/** The commit of a batch is rejected as a whole if, for example, another project uses one of its ids. */
const isRejected = (error: unknown): error is HttpError =>
  error instanceof HttpError && [400, 409, 413, 422].includes(error.status)

type Result = Pick<FinishedRow, 'outcome' | 'id'> & { message?: string }

function withResult(one: PreparedRow, { outcome, id, message }: Result): FinishedRow {
  // Without task numbers, which a dry run cannot know, and without the name of the field.
  const text = message?.replace(/#\d+ (?=")/g, '').replace(/^(addBlockedByIds|blockedByIds)/, 'they')
  if (text) one.notes.report(one.subject ? `${one.subject}: ${text}` : text)
  return { ...one, outcome, id }
}

/**
 * A repeated batch gets the stored reply, even if the caller has lost the role since the first attempt, whose worker
 * was killed.
 */
async function runCommand(
  { services, running }: Run,
  part: string,
  operations: ImportOperation[],
): Promise<ImportedRows> {
  const { projectId, caller, dryRun } = running
  const request = { name: importRows.name, caller, input: { projectId, dryRun, operations } }
  if (dryRun) return JSON.parse((await services.runHere(request)).body)
  const guard = { scope, key: `${running.id} ${part}`, fingerprint: '' }
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
