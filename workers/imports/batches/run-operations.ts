import type { ImportStep } from '../../../drizzle/schema/imports.ts'
import { type ImportedRows, importRows } from '../../../modules/imports/command/import-rows.ts'
import type { ImportOperation } from '../../../modules/imports/command/operations.ts'
import { HttpError } from '../../../src/responses/errors.ts'
import type { FinishedRow, PreparedRow } from './prepared-row.ts'
import type { Run } from '../run/run.ts'
import { batchKey } from './unrecorded.ts'

interface BatchResult<P extends PreparedRow> {
  finished: FinishedRow<P>[]
  /** The `batch` of the events. */
  batches: number[]
}

/** Runs the operations of rows in one command, and returns the rows with their outcomes. */
export async function runOperations<P extends PreparedRow>(
  run: Run,
  step: ImportStep,
  prepared: P[],
  prelude: ImportOperation[] = [],
): Promise<BatchResult<P>> {
  const operations = prepared.flatMap(({ operation }) => operation ?? [])
  if (operations.length === 0) return { finished: prepared as FinishedRow<P>[], batches: [] }
  try {
    const { batch, results } = await runCommand(
      run,
      // A repeated batch may have fewer operations: an account that lost the role ADMIN imports no fields.
      `${step} ${prepared[0]!.n}-${prepared.at(-1)!.n} ${operations.length}`,
      operations,
      prelude,
    )
    const remaining = results.values()
    const finished = prepared.map(
      (one) => (one.operation ? withResult(one, remaining.next().value!) : one) as FinishedRow<P>,
    )
    return { finished, batches: batch === undefined ? [] : [batch] }
  } catch (error) {
    if (!isRejected(error)) throw error
    if (prepared.length > 1) return runHalves(run, step, prepared, prelude)
    return {
      finished: prepared.map((one) => withResult(one, { outcome: 'rejected', message: error.message })),
      batches: [],
    }
  }
}

/** The commit of a batch is rejected as a whole if, for example, another project uses one of its ids. */
const isRejected = (error: unknown): error is HttpError =>
  error instanceof HttpError && [400, 409, 413, 422].includes(error.status)

async function runHalves<P extends PreparedRow>(
  run: Run,
  step: ImportStep,
  prepared: P[],
  prelude: ImportOperation[],
) {
  const middle = prepared.length >> 1
  const first = await runOperations(run, step, prepared.slice(0, middle), prelude)
  const second = await runOperations(run, step, prepared.slice(middle), prelude)
  return { finished: [...first.finished, ...second.finished], batches: [...first.batches, ...second.batches] }
}

function withResult<P extends PreparedRow>(
  one: P,
  { outcome, id, message }: Pick<ImportedRows['results'][number], 'outcome' | 'message'> & { id?: string },
): FinishedRow<P> {
  if (message) one.notes.report([...(one.subject ? [one.subject] : []), reportMessage(message)].join(': '))
  return { ...one, outcome, id }
}

/** Removes task numbers, which a dry run cannot know, and the name of the field `blockedByIds`. */
const reportMessage = (message: string): string =>
  message.replace(/#\d+ (?=")/g, '').replace(/^(addBlockedByIds|blockedByIds)/, 'they')

/** A repeated batch returns the stored reply: after a killed worker, also if the caller has lost the role since. */
async function runCommand(
  { services, running }: Run,
  part: string,
  operations: ImportOperation[],
  prelude: ImportOperation[],
): Promise<ImportedRows> {
  const { projectId, caller, dryRun } = running
  const request = { name: importRows.name, caller }
  if (dryRun) {
    const { body } = await services.runHere({ ...request, input: { projectId, dryRun, prelude, operations } })
    return JSON.parse(body)
  }
  const guard = batchKey(running.id, part)
  const write = () => services.runHere({ ...request, input: { projectId, operations }, guard })
  const { body } = await services.withIdempotency(guard, write)
  return JSON.parse(body)
}
