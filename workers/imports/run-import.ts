import { pipeline, Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'
import type { ImportStep } from '../../drizzle/schema/imports.ts'
import { shortenKeys } from '../../modules/imports/convert/keys.ts'
import { NamesInFile, openPeople } from '../../modules/imports/convert/names.ts'
import { storable, storableValue } from '../../modules/imports/convert/texts.ts'
import { ImportError, type ImportedItem, isSpec } from '../../modules/imports/items.ts'
import type { Mapping } from '../../modules/imports/mapping.ts'
import type { Reader } from '../../modules/imports/readers/file.ts'
import { readers as allReaders, type Source } from '../../modules/imports/sources.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { isTransient } from '../../src/postgres/errors.ts'
import type { Services } from '../../src/services.ts'
import { reasonOf, SliceEnded, type Throttle } from '../throttle.ts'
import { insertLines, recordCommitted, trimReports, writePages } from './batches.ts'
import {
  beginImport,
  failureOf,
  ImportTaken,
  isActive,
  isUnmoved,
  moveCursor,
  requireToken,
  runSlice,
  type Run,
  type Work,
} from './import-row.ts'
import { importLinks } from './links.ts'
import { importChildren, importNames, importTasks, readPeople } from './records.ts'
import { deleteRows, deleteUpload } from './remove.ts'
import { insertItems, markLeaves, Staging } from './staged.ts'

interface Options {
  readers?: Partial<Record<Source, Reader>>
  /** The maximum number of tasks in a batch. With 100, the p99 of creates is 37 to 45 ms instead of 13 (measured). */
  batchRows?: number
}

/** The length of the pause after a batch, as a multiple of the batch's duration. */
const pauses = () => 0.1

/** Runs an import until its end, or until the slice of the job ends. The next slice continues. */
export function openRunImport(services: Services, { readers = allReaders, batchRows = 64 }: Options = {}) {
  const sql = services.database.background
  const readFile = openReadFile()
  /** In their order. A step returns what the transaction that ends it commits too. */
  const steps: Record<Exclude<ImportStep, 'end'>, (run: Run) => Promise<Work | void>> = {
    read: (run) => readFile(run, readers[run.source]),
    names: importNames,
    tasks: importTasks,
    leaves: importChildren,
    children: importChildren,
    links: importLinks,
  }
  const order = [...Object.keys(steps), 'end'] as ImportStep[]

  async function runSteps(run: Run): Promise<null> {
    await requireToken(sql, run.caller)
    for (const [n, step] of order.entries()) {
      if (step !== run.cursor.step || step === 'end') continue
      const work = await steps[step](run)
      await moveCursor(run, { step: order[n + 1]!, n: 0 }, work)
    }
    return null
  }

  async function continueImport(id: string, throttle: Throttle): Promise<void> {
    const begun = await beginImport(sql, id)
    if (begun) {
      const run: Run = { ...begun, services, sql, throttle: { pauses, ...throttle }, batchRows }
      const error = await runSteps(run).catch((reason: unknown) => failureOf(id, reason))
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

/** The maximum time in ms between two runs of the event loop. */
const turnMs = 5
/** The time between two checks whether the import was cancelled. */
const checkEveryMs = 1_000
const smallBytes = 8_388_608
/** More lines than a report has, so that the report says that it is incomplete. */
const maxMessages = 20_000
const maxUnpackedBytes = 268_435_456
/** The time after which an import that waits to read its large file is started again. */
const waitMs = 10_000

/** Throws unless the file may be read further. @param bytes read of the unpacked file */
type Admit = (bytes: number) => void

/**
 * Returns a function that stores the items of a file. After an interruption, the whole file is read again. A worker
 * process reads one large file at a time, because a file may need minutes of processor time and hundreds of megabytes.
 * Small files do not wait. As an account runs one import at a time, accounts take turns.
 */
function openReadFile() {
  let current: object | undefined
  return async (run: Run, reader?: Reader): Promise<Work> => {
    if (!reader) throw new ImportError(`This release cannot read files of ${run.source}`)
    let hasEnded = false
    // A parser may read after the end.
    const admit: Admit = (bytes) => {
      if (hasEnded || (bytes > smallBytes && (current ??= run) !== run)) throw new SliceEnded(waitMs)
    }
    return readItems(run, reader, admit).finally(() => {
      hasEnded = true
      if (current === run) current = undefined
    })
  }
}

async function readItems(run: Run, reader: Reader, admit: Admit): Promise<Work> {
  const { sql, id, projectId, mapping, throttle } = run
  const [file] = await sql<{ bytes: number }[]>`
    select coalesce(sum(length(bytes)), 0)::int4 as bytes from import_chunks where import_id = ${id}`
  admit(file!.bytes)
  // Another worker that still reads this file cannot store items after the cursor has moved.
  await moveCursor(run, { step: 'read', n: run.cursor.n + 1 })
  const isMine = sql`import_id = ${id} and exists (select from imports where ${isUnmoved(run)})`
  await deleteRows(sql, 'import_items', isMine, { ...throttle, isOver: undefined })
  const [staging, names] = [new Staging(), new NamesInFile()]
  const [proposed, messages]: [Mapping, Set<string>] = [{}, new Set()]
  const items = reader({
    open: openFile(run, admit),
    mapping,
    propose: (part) => void Object.assign(proposed, part),
    report: (message) => void (messages.size < maxMessages && messages.add(message)),
  })
  const pages = pagesOf(items, staging, names, run.source)
  await writePages({ ...throttle, isOver: throttle.isStopping }, pages, (page) => insertItems(run, page))
  const people = openPeople(await readPeople(sql, projectId), mapping)
  run.mapping = storableValue(names.mapping(mapping, proposed, people))
  staging.addSpecs(names, run.mapping)
  await insertItems(run, staging.takePage())
  // Without statistics, Postgres would read all earlier items to find a key.
  await sql`analyze import_items`
  await markLeaves(run, staging.count)
  return async (tx) => {
    await tx`
      update imports set mapping = ${JSON.stringify(run.mapping)}::text::jsonb,
        read = (select count(*) from import_items where import_id = ${id} and kind = 'task') where id = ${id}`
    const line = { row: null, externalId: null, outcome: 'rejected' }
    const lines = [...messages].map((message) => ({ ...line, message }))
    await insertLines(tx, id, lines)
  }
}

/** Yields pages of items. @throws ImportError for every error in the file, also an unexpected one */
async function* pagesOf(
  items: AsyncIterable<ImportedItem>,
  staging: Staging,
  names: NamesInFile,
  source: string,
) {
  let turnAt = performance.now() + turnMs
  try {
    for await (const given of items) {
      if (!isSpec(given)) shortenKeys(given, source)
      const { item, json } = storable(given)
      names.add(item)
      if (!isSpec(item)) staging.add(item, json.length)
      if (staging.isFull) yield staging.takePage()
      if (performance.now() < turnAt) continue
      await nextTurn()
      turnAt = performance.now() + turnMs
    }
  } catch (error) {
    const isOfFile = !(error instanceof ImportTaken || error instanceof SliceEnded || isTransient(error))
    if (!isOfFile || error instanceof ImportError) throw error
    throw new ImportError(`The file cannot be read: ${reasonOf(error)}`)
  }
  yield staging.takePage()
}

/**
 * Returns a function that reads the unpacked file from its start. A hostile file may have hundreds of megabytes without
 * an item, so the function checks between the parts of the file whether the import is still active.
 */
function openFile({ sql, id, throttle }: Run, admit: Admit) {
  let checkAt = performance.now() + checkEveryMs
  return async function* () {
    const [first] = await sql<{ isGzip: boolean }[]>`
      select substring(bytes for 2) = '\\x1f8b' as is_gzip from import_chunks where import_id = ${id} and n = 0`
    const chunks = chunksOf(sql, id)
    let bytes = 0
    for await (const part of first?.isGzip ? gunzip(chunks) : chunks) {
      bytes += part.length
      if (bytes > maxUnpackedBytes)
        throw new ImportError(`The unpacked file has more than ${maxUnpackedBytes} bytes`)
      admit(bytes)
      yield part
      if (performance.now() < checkAt) continue
      if (throttle.isStopping?.()) throw new SliceEnded()
      if (!(await isActive(sql, id))) throw new ImportTaken()
      checkAt = performance.now() + checkEveryMs
    }
  }
}

/** Yields the stored parts of a file, one at a time. */
async function* chunksOf(sql: Sql, importId: string) {
  for (let n = 0; ; n++) {
    const [chunk] = await sql<{ bytes: Uint8Array }[]>`
      select bytes from import_chunks where import_id = ${importId} and n = ${n}`
    if (!chunk) return
    yield chunk.bytes
  }
}

async function* gunzip(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const unpacked = createGunzip()
  // An error of the source also ends the unpacked stream.
  pipeline(Readable.from(packed), unpacked, () => {})
  try {
    yield* unpacked
  } catch (error) {
    const isBroken = String((error as { code?: string }).code).startsWith('Z_')
    throw isBroken ? new ImportError('The gzip archive is broken, or its end is missing') : error
  } finally {
    unpacked.destroy()
  }
}
