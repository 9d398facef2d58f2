import type { Docket, Import } from '../../../../typescript/src/index.ts'
import type { Cli } from '../../cli.ts'
import { command, json, key, limitOption, project } from '../../command.ts'
import { usageError } from '../../failure.ts'
import { readLimit } from '../../numbers.ts'
import { collect, connect } from '../../service/connect.ts'
import { findProject } from '../../service/find.ts'
import { printImport, type Shown, shownLines } from '../../transfer/print-import.ts'
import { localTime } from '../../terminal/text.ts'
import { importEnded } from '../../transfer/wait.ts'

const pageLimit = 200

export const imports = command({
  name: 'imports',
  about: 'List the imports of a project; with an id, show, cancel or undo an import',
  args: {
    id: {
      type: 'positional',
      required: false,
      description: 'The id of an import: shows its counts and report',
    },
    ...project,
    wait: { type: 'boolean', description: 'Wait for the end of the import or its undo' },
    cancel: { type: 'boolean', description: 'End the import; the rows that it has written remain' },
    undo: {
      type: 'boolean',
      description: 'Undo everything that the import has written, except rows that somebody has changed since',
    },
    ...limitOption('imports, or lines of the report', shownLines),
    ...key,
    ...json,
  },
  examples: [
    'docket imports --project Engine',
    'docket imports 01a2061c-7431-7002-b185-f0596fc00038 --wait',
    'docket imports 01a2061c-7431-7002-b185-f0596fc00038 --undo',
  ],
  async run(cli, { id, project, wait, cancel, undo, limit: given, key, json }) {
    const limit = readLimit(given, shownLines)
    if ([wait, cancel, undo].filter(Boolean).length > 1)
      throw usageError('imports accepts one of --wait, --cancel and --undo')
    if (!id && (wait || cancel || undo))
      throw usageError('The id of an import is required: docket imports lists the imports')
    const docket = await connect(cli)
    if (!id) return listImports(cli, docket, await findProject(cli, docket, project), { limit, json })
    if (undo) await docket.imports.undo(id, { idempotencyKey: key })
    if (cancel) await docket.imports.cancel(id, { idempotencyKey: key })
    const isAwaited = wait || undo || false
    const shown = isAwaited ? await importEnded(cli, docket, id) : await docket.imports.get(id)
    await printImport(cli, docket, shown, { limit, json, isAwaited })
  },
})

async function listImports(cli: Cli, docket: Docket, projectId: string, { limit, json }: Shown) {
  const list = docket.imports.list({ projectId, limit: Math.min(limit, pageLimit) })
  const rows = await collect(cli, list, 'imports', limit)
  if (json) return cli.out.json(rows)
  if (rows.length === 0) return cli.err.line('No imports')
  await cli.out.table(rows, [
    { title: 'ID', value: ({ id }) => id },
    { title: 'STARTED', value: ({ createdAt }) => localTime(createdAt) },
    { title: 'SOURCE', value: ({ source }) => source },
    { title: 'STATE', value: stateOf },
    { title: 'READ', value: ({ counts }) => counts.read },
    { title: 'CREATED', value: ({ counts }) => counts.created },
    { title: 'UPDATED', value: ({ counts }) => counts.updated },
    { title: 'REJECTED', value: ({ counts }) => counts.rejected },
  ])
}

const stateOf = ({ state, dryRun, undo }: Import): string => {
  if (undo) return `undo ${undo.state}`
  return dryRun ? `${state} (dry run)` : state
}
