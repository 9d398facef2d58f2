import { setTimeout as sleep } from 'node:timers/promises'
import type { ImportStep } from '../../drizzle/schema/imports.ts'
import { ImportError } from '../../modules/imports/items.ts'
import type { Reader } from '../../modules/imports/readers/reader.ts'
import { readers, type Source } from '../../modules/imports/sources.ts'
import { toHttpError } from '../../src/postgres/errors.ts'
import type { Services } from '../../src/services.ts'
import { throttle as limitCalls } from '../../src/throttle.ts'
import { reasonOf } from '../reason.ts'
import { SliceEnded, type Throttle } from '../throttle.ts'
import { importComments, importSubtasks } from './steps/children.ts'
import { beginImport, finishImport, ImportTaken } from './run/import-row.ts'
import { importLabels } from './steps/labels.ts'
import { importLinks } from './steps/links.ts'
import { nestSubItems } from './steps/nest.ts'
import { openOutages } from './outages.ts'
import { readFile } from './read/read.ts'
import { deleteUpload } from './remains.ts'
import type { Run } from './run/run.ts'
import { importTasks } from './steps/tasks.ts'

const steps: Record<Exclude<ImportStep, 'read' | 'end'>, (run: Run) => Promise<void>> = {
  nest: nestSubItems,
  labels: importLabels,
  tasks: importTasks,
  subtasks: importSubtasks,
  comments: importComments,
  links: importLinks,
}

/** The time between two notifications of an import. */
const announceEveryMs = 250
const retryMs = 1_000

/** Runs an import until its end, or until the slice of the job ends. The next slice continues. */
export function openRunImport(services: Services, known: Partial<Record<Source, Reader>> = readers) {
  const { importNotifications, database } = services
  const sql = database.background
  const outages = openOutages()

  return async ({ importId = '' }: Record<string, string>, throttle: Throttle): Promise<void> => {
    const row = await beginImport(sql, importId)
    if (row) {
      const notify = () => importNotifications.publish([{ projectId: row.projectId, version: 0 }])
      const limited = limitCalls(announceEveryMs, notify)
      const run: Run = { services, sql, row, throttle, announce: () => limited(undefined) }
      const error = await runSteps(run, known[row.source]).then(
        () => undefined,
        (error: unknown) => errorOf(run, error),
      )
      outages.end(row.id)
      await finishImport(sql, row.id, error)
      notify()
    }
    await deleteUpload(sql, importId, throttle)
  }

  /** Returns why the import failed. @throws if the job runs again */
  async function errorOf({ row, throttle }: Run, error: unknown): Promise<string> {
    if (error instanceof ImportError) return error.message
    if (error instanceof ImportTaken) throw new SliceEnded()
    const http = toHttpError(error)
    if (http?.status === 403) return http.message
    if (http?.status === 404)
      return 'The project was deleted, or the account that imports is no longer a member'
    if (!http || ![429, 503].includes(http.status)) throw error
    if (outages.isLong(row)) return `The import could not continue: ${reasonOf(http)}`
    if (!throttle.isStopping?.()) await sleep(retryMs)
    throw new SliceEnded()
  }
}

async function runSteps(run: Run, reader: Reader | undefined): Promise<void> {
  const { row } = run
  if (!reader) throw new ImportError(`This release cannot read files of ${row.source}`)
  for (let { step } = row.cursor; step !== 'end'; { step } = row.cursor)
    await (step === 'read' ? readFile(run, reader) : steps[step](run))
}
