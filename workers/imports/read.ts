import { setImmediate as nextTurn } from 'node:timers/promises'
import { ImportError, type ImportedItem, isSpec } from '../../modules/imports/items.ts'
import type { Mapping } from '../../modules/imports/mapping.ts'
import { NamesInFile, People } from '../../modules/imports/convert/names.ts'
import { shortenKeys } from '../../modules/imports/convert/keys.ts'
import { storable, storableValue } from '../../modules/imports/convert/texts.ts'
import type { Reader } from '../../modules/imports/readers/reader.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { isTransient } from '../../src/postgres/errors.ts'
import { reasonOf } from '../reason.ts'
import { forEachPage, SliceEnded } from '../throttle.ts'
import { type Reading, readChunks, unpack } from './file.ts'
import {
  endStep,
  ImportTaken,
  isActive,
  isUnmoved,
  moveCursor,
  type Run,
  showProgress,
} from './import-row.ts'
import { deleteRows } from './remove.ts'
import { countRead, insertLines } from './report.ts'
import { readPeople } from './names.ts'
import { insertItems, markLeaves, Staging } from './staged.ts'

/** The maximum time in ms between two runs of the event loop. */
const turnMs = 5
/** The time between two checks whether the import was cancelled. */
const checkEveryMs = 1_000

/** Stores the items of the file. After an interruption, the whole file is read again. */
export async function readFile(run: Run, reader: Reader): Promise<void> {
  const reading = run.largeFiles.begin(run.running.id)
  reading.admit()
  await readItems(run, reader, reading).finally(reading.end)
}

async function readItems(run: Run, reader: Reader, reading: Reading): Promise<void> {
  const { sql, running } = run
  // Another worker that still reads this file cannot store items after the cursor has moved.
  await moveCursor(run, { step: 'read', n: running.cursor.n + 1 }, 0)
  await deleteItems(run)
  const [staging, names] = [new Staging(), new NamesInFile()]
  const { items, proposed, messages, readPart } = await openItems(run, reader, reading)
  const throttle = { ...run.throttle, isOver: run.throttle.isStopping }
  // A page is stored while the next page is read.
  let stored: Promise<unknown> = Promise.resolve()
  await forEachPage(throttle, true, async () => {
    const isEnd = await fillPage(items, staging, names, running.source)
    await stored
    stored = insertItems(sql, running, staging.takePage()).then(() => showProgress(run, 'read', readPart()))
    // Prevents an unhandled rejection: the next page throws the same error.
    stored.catch(() => {})
    return isEnd ? undefined : true
  }).finally(() => stored)
  const people = new People(await readPeople(sql, running.projectId), running.mapping)
  running.mapping = storableValue(names.mapping(running.mapping, proposed, people))
  staging.addSpecs(names, running.mapping)
  await insertItems(sql, running, staging.takePage())
  // Without statistics, Postgres would read all earlier items to find a key.
  await sql`analyze import_items`
  await markLeaves(sql, running)
  const mapping = JSON.stringify(running.mapping)
  const store = async (tx: Sql) => {
    await tx`update imports set mapping = ${mapping}::text::jsonb where id = ${running.id}`
    await countRead(tx, running.id)
    const lines = [...messages].map((message) => ({
      row: null,
      externalId: null,
      outcome: 'rejected',
      message,
    }))
    await insertLines(tx, running.id, lines)
  }
  await endStep(run, 'read', store)
}

async function openItems(run: Run, reader: Reader, reading: Reading) {
  const { id, mapping } = run.running
  const { sql } = run
  const [row] = await sql<{ count: number }[]>`
    select coalesce(max(n), 0)::int4 + 1 as count from import_chunks where import_id = ${id}`
  let chunks = 0
  const proposed: Mapping = {}
  const messages = new Set<string>()
  const items = reader({
    open: openFile(run, reading, (n) => (chunks = n)),
    mapping,
    propose: (part) => void Object.assign(proposed, part),
    report: (message) => void messages.add(message),
  })
  const readPart = () => chunks / row!.count
  return { items: items[Symbol.asyncIterator](), proposed, messages, readPart }
}

/**
 * Returns a function that reads the file from its start. A hostile file may have hundreds of megabytes without an item,
 * so the function checks between the parts of the file whether the import is still active.
 */
function openFile({ sql, running, throttle }: Run, reading: Reading, onChunk: (n: number) => void) {
  let checkAt = performance.now() + checkEveryMs
  return async function* () {
    let bytes = 0
    for await (const part of unpack(readChunks(sql, running.id, onChunk))) {
      bytes += part.length
      reading.admit(bytes)
      yield part
      if (performance.now() < checkAt) continue
      if (throttle.isStopping?.()) throw new SliceEnded()
      if (!(await isActive(sql, running.id))) throw new ImportTaken()
      checkAt = performance.now() + checkEveryMs
    }
  }
}

/** Returns true at the end of the file. @throws ImportError for every error in the file, also an unexpected one */
async function fillPage(
  items: AsyncIterator<ImportedItem>,
  staging: Staging,
  names: NamesInFile,
  source: string,
): Promise<boolean> {
  for (let turnAt = performance.now() + turnMs; !staging.isFull;) {
    const next = await items.next().catch((error: unknown) => {
      const isOfFile = !(error instanceof ImportTaken || error instanceof SliceEnded || isTransient(error))
      if (!isOfFile || error instanceof ImportError) throw error
      throw new ImportError(`The file cannot be read: ${reasonOf(error)}`)
    })
    if (next.done) return true
    if (!isSpec(next.value)) shortenKeys(next.value, source)
    const { item, json } = storable(next.value)
    names.add(item)
    if (!isSpec(item)) staging.add(item, json)
    if (performance.now() < turnAt) continue
    await nextTurn()
    turnAt = performance.now() + turnMs
  }
  return false
}

/** Deletes the items of an interrupted step, but none of a worker that has begun to read the file since. */
function deleteItems({ sql, running, throttle }: Run): Promise<void> {
  const condition = sql`exists (select from imports where ${isUnmoved(sql, running)})`
  return deleteRows(sql, 'import_items', running.id, { ...throttle, isOver: undefined }, condition)
}
