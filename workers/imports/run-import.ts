import type { ImportStep } from '../../drizzle/schema/imports.ts'
import { ImportError } from '../../modules/imports/items.ts'
import { readers as allReaders, type Source } from '../../modules/imports/sources.ts'
import type { Reader } from '../../modules/imports/readers/reader.ts'
import type { Services } from '../../src/services.ts'
import type { Throttle } from '../throttle.ts'
import { recordCommitted, trimReports } from './batches.ts'
import { beginImport, failureOf, openRunSlice, requireToken, type Run } from './import-row.ts'
import { importLinks } from './links.ts'
import { openReadFile } from './read.ts'
import { importChildren, importNames, importTasks } from './records.ts'
import { deleteUpload } from './remove.ts'

interface Options {
  readers?: Partial<Record<Source, Reader>>
  batchRows?: number
}

/** The length of the pause after a batch, as a multiple of the batch's duration. */
const pauses = () => 0.1

/** Runs an import until its end, or until the slice of the job ends. The next slice continues. */
export function openRunImport(services: Services, { readers = allReaders, batchRows = 200 }: Options = {}) {
  const sql = services.database.background
  const runSlice = openRunSlice(services.log)
  const readFile = openReadFile()
  const steps: Record<Exclude<ImportStep, 'end'>, (run: Run) => Promise<void>> = {
    async read(run) {
      const reader = readers[run.source]
      if (!reader) throw new ImportError(`This release cannot read files of ${run.source}`)
      await readFile(run, reader)
    },
    names: importNames,
    tasks: importTasks,
    leaves: (run) => importChildren(run, 'leaves'),
    children: (run) => importChildren(run, 'children'),
    links: importLinks,
  }

  async function runSteps(run: Run): Promise<null> {
    await requireToken(sql, run.caller)
    for (let { step } = run.cursor; step !== 'end' && step !== 'undo'; { step } = run.cursor)
      await steps[step](run)
    return null
  }

  async function continueImport(id: string, throttle: Throttle): Promise<void> {
    const begun = await beginImport(sql, id)
    if (begun) {
      const run: Run = { ...begun, services, sql, throttle: { pauses, ...throttle }, batchRows }
      const error = await runSteps(run).catch(failureOf)
      await sql`
        update imports set state = ${error === null ? 'done' : 'failed'}, error = ${error}, finished_at = now()
        where id = ${id} and state in ('queued', 'running')`
    }
    await recordCommitted(sql, id)
    await deleteUpload(sql, id, throttle)
    await trimReports(sql, id)
  }

  return ({ importId = '' }: Record<string, string>, throttle: Throttle): Promise<void> =>
    runSlice(importId, () => continueImport(importId, throttle))
}
