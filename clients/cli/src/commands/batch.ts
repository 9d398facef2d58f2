import { type Docket, DocketError } from '../../../typescript/src/index.ts'
import { type Cli, readInput } from '../cli.ts'
import { command, json, key, project } from '../command.ts'
import { exitCodeOf, exitCodes, Failure, usageError } from '../failure.ts'
import { readCount } from '../numbers.ts'
import { connect, keyOf, writeOptions } from '../service/connect.ts'
import { findProject } from '../service/find.ts'
import { type Batch, readBatch } from '../service/operations.ts'
import { withProgress } from '../terminal/progress.ts'
import { printable } from '../terminal/text.ts'

const maxOperations = 500

interface Committed {
  version: number
  results: { id: string; number?: number }[]
  /** The number for `docket undo --batch`; absent if nothing has changed. */
  batch?: number
}

interface Done extends Omit<Committed, 'batch'> {
  batches: number[]
}

export const batch = command({
  name: 'batch',
  about: 'Commit the operations of standard input together: all of them, or none',
  args: {
    ...project,
    'dry-run': { type: 'boolean', description: 'Check the operations, and change nothing' },
    'if-version': {
      type: 'string',
      valueHint: 'number',
      description: 'Fail if the project has another version',
    },
    split: {
      type: 'boolean',
      description: `Send more than ${maxOperations} operations as several batches, which are committed one after another`,
    },
    ...key,
    ...json,
  },
  examples: [
    'docket batch < operations.json',
    `echo '{"op":"task.create","title":"Oil the wheels"}' | docket batch --project Engine`,
    'docket batch --split --key import-1 < tasks.ndjson',
  ],
  async run(cli, { project, 'dry-run': dryRun, 'if-version': version, split, key, json }) {
    const ifVersion = version === undefined ? undefined : readCount('if-version', version)
    if (cli.input.isTTY)
      throw usageError('batch reads operations from standard input: docket batch < operations.json')
    const given = readBatch(await readInput(cli))
    const { length } = given.operations
    if (length > maxOperations && !split)
      throw usageError(
        `A batch has at most ${maxOperations} operations, but the input has ${length}: pass --split to send several batches`,
      )
    const docket = await connect(cli)
    const projectId = await findProject(cli, docket, project)
    const body = { ...given, ...(ifVersion !== undefined && { ifVersion }) }
    const parts = partsOf(body)
    const done = await send(cli, docket, parts, { projectId, dryRun, key })
    const { batches, ...others } = done
    if (json) return cli.out.json({ ...others, ...(parts.length > 1 ? { batches } : { batch: batches[0] }) })
    const rows = done.results.map((result, index) => ({ ...result, op: nameOf(given.operations[index]) }))
    await cli.out.table(rows, [
      { title: 'OPERATION', value: ({ op }) => op },
      { title: '#', value: ({ number }) => number },
      { title: 'ID', value: ({ id }) => id },
    ])
    const plural = length === 1 ? 'operation' : 'operations'
    const outcome = dryRun ? 'Checked' : 'Committed'
    await cli.err.line(`${outcome} ${length} ${plural}${asBatches(batches)}: version ${done.version}`)
  },
})

const asBatches = (batches: number[]) =>
  batches.length === 0 ? '' : ` as batch${batches.length > 1 ? 'es' : ''} ${batches.join(', ')}`

const nameOf = (operation: unknown) => printable(String((operation as { op?: unknown }).op))

/** Only the first batch has the conditions of the input, because each batch changes the version. */
function partsOf({ operations, ...conditions }: Batch): Batch[] {
  const parts: Batch[] = [{ ...conditions, operations: operations.slice(0, maxOperations) }]
  for (let at = maxOperations; at < operations.length; at += maxOperations)
    parts.push({ operations: operations.slice(at, at + maxOperations) })
  return parts
}

interface Target {
  projectId: string
  dryRun: boolean | undefined
  key: string | undefined
}

const send = (cli: Cli, docket: Docket, parts: Batch[], { projectId, dryRun, key }: Target): Promise<Done> =>
  withProgress(cli.err, 'operations', async (show) => {
    const done: Done = { version: 0, results: [], batches: [] }
    const total = parts.reduce((sum, { operations }) => sum + operations.length, 0)
    for (const [index, body] of parts.entries()) {
      const options = writeOptions(cli, { key: keyOf(key, index) }, { projectId })
      const request = { ...options, body, query: { dryRun: dryRun || undefined } }
      const sent = docket.transport.request<Committed>('POST', `/projects/${projectId}/batch`, request)
      const { body: answer } = await sent.catch((error: Error) => {
        throw index === 0 ? error : partFailed(done, error)
      })
      done.version = answer.version
      done.results.push(...answer.results)
      if (answer.batch !== undefined) done.batches.push(answer.batch)
      if (parts.length > 1) show(done.results.length, total)
    }
    return done
  })

const partFailed = ({ results, batches, version }: Done, error: Error) =>
  new Failure(
    `The first ${results.length} operations are committed${asBatches(batches)} (version ${version}); the next batch failed: ${error.message}`,
    error instanceof DocketError ? exitCodeOf(error.status) : exitCodes.error,
  )
