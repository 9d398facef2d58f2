import type { TaskRow } from '../../drizzle/rows.ts'
import { concurrencyErrors, openConcurrencyLimit, FairQueue } from '../../src/admission/fair-queue.ts'
import type { ReadRequest } from '../../src/commands/query.ts'
import { nilId } from '../../src/id-format.ts'
import { visibleColumns } from '../../src/log/rows-at.ts'
import { definitionOf } from '../../src/model/model.ts'
import { maxSnapshots, type Sql } from '../../src/postgres/database.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'
import { jsonTexts } from '../../src/reads/pages.ts'
import type { VersionRef } from '../../src/reads/versions.ts'
import { heartbeat, heartbeatMs } from '../../src/responses/server-sent-events.ts'
import type { Services } from '../../src/services.ts'
import { within } from '../../src/waits.ts'
import { type ExportedProject, openExportedProject, shownTasks } from '../exports/project.ts'
import { unzipped, charge, openSpooled, type Spool } from '../exports/spool.ts'

const what = 'snapshots'
export const snapshotErrors = () => concurrencyErrors(what)

/** The maximum number of rows of a message, and the number of rows that count as one read. */
const maxRows = 200

/** Yields the messages with the rows of a project at one version, and returns this version. */
export type StreamedSnapshot = AsyncGenerator<Uint8Array<ArrayBuffer>, VersionRef, void>

/** An account reads at most this many snapshots at the same time, so that other accounts need not wait for them. */
const slotsOfKey = 2

export function openStreamedSnapshots(services: Services) {
  const { acquire } = openConcurrencyLimit({ what, ofAll: 64, ofAccount: 8 })
  const places = new FairQueue({ what, whose: 'of this account', slots: maxSnapshots, slotsOfKey })

  /** @throws HttpError 429 and 503 for too many snapshots */
  return (
    { caller, permit }: ReadRequest,
    projectId: string,
    kinds: string[],
    signal: AbortSignal,
  ): StreamedSnapshot => {
    const release = acquire(caller.userId)
    permit.release()
    const open = async (sql: Sql) => {
      signal.throwIfAborted()
      const found = await openExportedProject(services, sql, caller.userId, projectId)
      // Like a list with `asOf`, a snapshot shows a claim until the log contains its end.
      const exported = { ...found, isPast: true }
      const ofParts = kinds.reduce((sum, kind) => sum + rowsOfKind(exported, kind).length, 0)
      const ofTasks = kinds.includes('tasks') ? await countTasks(exported) : 0
      // The request itself is charged as one read.
      await charge(services, caller, ofParts + ofTasks - maxRows)
      return { ...found, texts: messagesOf(services, exported, kinds) }
    }
    const place = Promise.resolve(places.acquire(caller.userId))
    const opening = place.then((own) => openSpooled(services, own, undefined, open))
    let isOver = false
    const close = () => {
      if (isOver) return
      isOver = true
      release()
      opening.then(({ spool }) => spool.close()).catch(() => {})
    }
    opening.catch(close)
    signal.addEventListener('abort', close, { once: true })
    return stream(opening, close)
  }
}

/** @param close closes the file */
async function* stream(opening: Promise<VersionRef & { spool: Spool }>, close: () => void): StreamedSnapshot {
  let opened: Awaited<typeof opening> | undefined
  while (!(opened = await within(heartbeatMs, opening))) yield heartbeat()
  yield* unzipped(opened.spool.chunks()) as AsyncGenerator<Uint8Array<ArrayBuffer>>
  close()
  const { version, lastEventId } = opened
  return { version, lastEventId }
}

const rowsOfKind = ({ parts }: ExportedProject, kind: string) =>
  parts.flatMap(({ name, shown }) => (definitionOf(name).plural === kind ? shown : []))

async function countTasks({ sql, projectId }: ExportedProject): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int4 as count from tasks where project_id = ${projectId}`
  return row!.count
}

/** Yields messages without an `id`, so that a client whose connection breaks receives the whole snapshot again. */
async function* messagesOf(
  services: Services,
  exported: ExportedProject,
  kinds: string[],
): AsyncGenerator<string, void, void> {
  for (const kind of kinds) {
    const pages = kind === 'tasks' ? taskPages(services, exported) : [rowsOfKind(exported, kind)]
    for await (const rows of pages)
      for (let at = 0; at < rows.length;) {
        const texts = jsonTexts(rows.slice(at, at + maxRows), (row) => row)
        yield `event: snapshot\ndata: {"version":${exported.version},"kind":"${kind}","rows":[${texts.join()}]}\n\n`
        at += texts.length
      }
  }
}

/** Yields pages of tasks in the order of their ids, as lists without `sort` do. */
async function* taskPages({ findPerson }: Services, exported: ExportedProject) {
  const { sql, projectId } = exported
  for (let after: string | undefined = nilId; after;) {
    const rows: TaskRow[] = await unprepared(sql<TaskRow[]>`
      select ${visibleColumns(sql, 'task', 't')} from tasks t
      where t.project_id = ${projectId} and t.id > ${after} order by t.id limit ${maxRows}`)
    after = rows.length === maxRows ? rows.at(-1)!.id : undefined
    yield await shownTasks(exported, rows, findPerson)
  }
}
