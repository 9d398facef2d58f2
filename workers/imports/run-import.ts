import type { ImportStep } from '../../drizzle/schema/imports.ts'
import { ImportError } from '../../modules/imports/items.ts'
import type { Reader } from '../../modules/imports/readers/reader.ts'
import { readers as allReaders, type Source } from '../../modules/imports/sources.ts'
import type { Services } from '../../src/services.ts'
import { SliceEnded, type Throttle } from '../throttle.ts'
import { recordCommitted } from './batches.ts'
import { openFailures } from './failures.ts'
import { openLargeFiles } from './file.ts'
import { beginImport, finishImport, requireToken, type Run } from './import-row.ts'
import { readFile } from './read.ts'
import { importLinks } from './links.ts'
import { importNames } from './names.ts'
import { importChildren, importTasks } from './records.ts'
import { deleteUpload } from './remove.ts'
import { trimReports } from './report.ts'

const steps: Record<Exclude<ImportStep, 'read' | 'end'>, (run: Run) => Promise<void>> = {
  names: importNames,
  tasks: importTasks,
  leaves: (run) => importChildren(run, 'leaf'),
  children: (run) => importChildren(run, 'child'),
  links: importLinks,
}

interface Options {
  readers?: Partial<Record<Source, Reader>>
  batchRows?: number
}

/** The time after which an import that waits for another one is started again. */
const waitMs = 1_000
/** The length of the pause after a batch, as a multiple of the batch's duration. */
const pauses = () => 0.1

/** Runs an import until its end, or until the slice of the job ends. The next slice continues. */
export function openRunImport(services: Services, { readers = allReaders, batchRows = 200 }: Options = {}) {
  const sql = services.database.background
  const failures = openFailures(services.log)
  const largeFiles = openLargeFiles()
  const runSlice = async (importId: string, throttle: Throttle): Promise<void> => {
    const running = await beginImport(sql, importId)
    if (running === 'waits') throw new SliceEnded(waitMs)
    if (running) {
      const run: Run = {
        services,
        sql,
        running,
        throttle: { pauses, ...throttle },
        largeFiles,
        batchRows,
      }
      const error = await runSteps(run, readers[running.source]).then(
        () => undefined,
        (error: unknown) => failures.messageOf(running, error),
      )
      await finishImport(sql, running.id, error)
      if (error !== undefined) services.counts.imports.failed++
    }
    await recordCommitted(sql, importId)
    await deleteUpload(sql, importId, throttle)
    await trimReports(sql, importId)
  }
  return ({ importId = '' }: Record<string, string>, throttle: Throttle): Promise<void> =>
    failures.runSlice(importId, () => runSlice(importId, throttle))
}

async function runSteps(run: Run, reader: Reader | undefined): Promise<void> {
  const { running } = run
  if (!reader) throw new ImportError(`This release cannot read files of ${running.source}`)
  await requireToken(run.sql, running.caller)
  for (let { step } = running.cursor; step !== 'end' && step !== 'undo'; { step } = running.cursor)
    await (step === 'read' ? readFile(run, reader) : steps[step](run))
}
