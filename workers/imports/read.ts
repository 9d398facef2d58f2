import { setImmediate as nextTurn } from 'node:timers/promises'
import { shortenKeys } from '../../modules/imports/convert/keys.ts'
import { NamesInFile, People } from '../../modules/imports/convert/names.ts'
import { storable, storableValue } from '../../modules/imports/convert/texts.ts'
import { ImportError, type ImportedItem, isSpec } from '../../modules/imports/items.ts'
import type { Mapping } from '../../modules/imports/mapping.ts'
import type { Reader } from '../../modules/imports/readers/reader.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { isTransient } from '../../src/postgres/errors.ts'
import { reasonOf } from '../reason.ts'
import { SliceEnded } from '../throttle.ts'
import { writePages } from './batches.ts'
import { contentOf } from './file.ts'
import { endStep, ImportTaken, isActive, isUnmoved, moveCursor, progressAt, type Run } from './import-row.ts'
import { readPeople } from './names.ts'
import { deleteRows } from './remove.ts'
import { insertLines } from './report.ts'
import { insertItems, markLeaves, Staging } from './staged.ts'

/** The maximum time in ms between two runs of the event loop. */
const turnMs = 5
/** The time between two checks whether the import was cancelled. */
const checkEveryMs = 1_000
const smallBytes = 8_388_608
/** The time after which an import that waits to read its large file is started again. */
const waitMs = 10_000

/** Throws unless the file may be read further. @param bytes read of the unpacked file */
type Admit = (bytes: number) => void

/**
 * Returns a function that stores the items of a file. After an interruption, the whole file is read again. A worker
 * process reads one large file at a time, because a file may need minutes of processor time and hundreds of megabytes.
 * Small files do not wait. As an account runs one import at a time, accounts take turns.
 */
export function openReadFile() {
  let current: object | undefined
  return async (run: Run, reader: Reader): Promise<void> => {
    let hasEnded = false
    // A parser may read after the end.
    const admit: Admit = (bytes) => {
      if (hasEnded || (bytes > smallBytes && (current ??= run) !== run)) throw new SliceEnded(waitMs)
    }
    await readItems(run, reader, admit).finally(() => {
      hasEnded = true
      if (current === run) current = undefined
    })
  }
}

async function readItems(run: Run, reader: Reader, admit: Admit): Promise<void> {
  const { sql, running } = run
  const { id, mapping } = running
  const [file] = await sql<{ parts: number; bytes: number }[]>`
    select count(*)::int4 as parts, coalesce(sum(length(bytes)), 0)::int4 as bytes from import_chunks where import_id = ${id}`
  admit(file!.bytes)
  // Another worker that still reads this file cannot store items after the cursor has moved.
  await moveCursor(run, { step: 'read', n: running.cursor.n + 1 }, 0)
  const isMine = sql`exists (select from imports where ${isUnmoved(sql, running)})`
  await deleteRows(sql, 'import_items', id, { ...run.throttle, isOver: undefined }, isMine)
  const [staging, names] = [new Staging(), new NamesInFile()]
  const [proposed, messages]: [Mapping, Set<string>] = [{}, new Set()]
  let partsRead = 0
  const items = reader({
    open: openFile(run, admit, (n) => (partsRead = n)),
    mapping,
    propose: (part) => void Object.assign(proposed, part),
    report: (message) => void messages.add(message),
  })[Symbol.asyncIterator]()
  const readPage = async () => {
    await fillPage(items, staging, names, running.source)
    return staging.isEmpty ? undefined : staging.takePage()
  }
  await writePages({ ...run.throttle, isOver: run.throttle.isStopping }, readPage, async (page) => {
    await insertItems(sql, running, page)
    await sql`update imports set progress = ${progressAt('read', partsRead / file!.parts)} where id = ${id}`
  })
  const people = new People(await readPeople(sql, running.projectId), mapping)
  running.mapping = storableValue(names.mapping(mapping, proposed, people))
  staging.addSpecs(names, running.mapping)
  await insertItems(sql, running, staging.takePage())
  // Without statistics, Postgres would read all earlier items to find a key.
  await sql`analyze import_items`
  await markLeaves(sql, running)
  await endStep(run, 'read', (tx) => storeRead(tx, running, messages))
}

/** Stores the mapping, the number of tasks, and the lines about the whole file. */
async function storeRead(tx: Sql, { id, mapping }: Run['running'], messages: Iterable<string>) {
  await tx`
    update imports set mapping = ${JSON.stringify(mapping)}::text::jsonb,
      read = (select count(*) from import_items where import_id = ${id} and kind = 'task') where id = ${id}`
  const line = { row: null, externalId: null, outcome: 'rejected' }
  await insertLines(
    tx,
    id,
    [...messages].map((message) => ({ ...line, message })),
  )
}

/**
 * Returns a function that reads the file from its start. A hostile file may have hundreds of megabytes without an item,
 * so the function checks between the parts of the file whether the import is still active.
 */
function openFile({ sql, running, throttle }: Run, admit: Admit, onChunk: (n: number) => void) {
  let checkAt = performance.now() + checkEveryMs
  return async function* () {
    let bytes = 0
    for await (const part of contentOf(sql, running.id, onChunk)) {
      bytes += part.length
      admit(bytes)
      yield part
      if (performance.now() < checkAt) continue
      if (throttle.isStopping?.()) throw new SliceEnded()
      if (!(await isActive(sql, running.id))) throw new ImportTaken()
      checkAt = performance.now() + checkEveryMs
    }
  }
}

/** Reads items until they fill a page. @throws ImportError for every error in the file, also an unexpected one */
async function fillPage(
  items: AsyncIterator<ImportedItem>,
  staging: Staging,
  names: NamesInFile,
  source: string,
): Promise<void> {
  for (let turnAt = performance.now() + turnMs; !staging.isFull;) {
    const next = await items.next().catch((error: unknown) => {
      const isOfFile = !(error instanceof ImportTaken || error instanceof SliceEnded || isTransient(error))
      if (!isOfFile || error instanceof ImportError) throw error
      throw new ImportError(`The file cannot be read: ${reasonOf(error)}`)
    })
    if (next.done) return
    if (!isSpec(next.value)) shortenKeys(next.value, source)
    const { item, json } = storable(next.value)
    names.add(item)
    if (!isSpec(item)) staging.add(item, json.length)
    if (performance.now() < turnAt) continue
    await nextTurn()
    turnAt = performance.now() + turnMs
  }
}
