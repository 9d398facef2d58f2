import { Calls, nextCursor } from '../calls/calls.ts'
import type { List, Page } from '../calls/list.ts'
import type { Transport } from '../transport.ts'
import { hasStatus } from './attempts.ts'
import type { FeedEvent, Snapshot } from './events.ts'
import { Replica } from './replica.ts'

const eventsPerPage = 500
const rowsPerPage = 200
/** The time for a response, in addition to the wait of a long poll. */
const graceMs = 15_000

type Signal = AbortSignal | undefined

interface EventPage {
  after: number
  exceptActor?: string | undefined
  wait?: number
  signal: Signal
}

/** Returns a page of events, and the seq up to which it shows them. @param wait the seconds to wait if there is no event */
export async function readEvents(
  transport: Transport,
  projectId: string,
  { after, exceptActor, wait = 0, signal }: EventPage,
): Promise<{ events: FeedEvent[]; end: number }> {
  const query = { after, exceptActor, limit: eventsPerPage, ...(wait > 0 && { wait }) }
  const options = { query, signal, deadlineMs: wait * 1_000 + graceMs }
  const path = `/projects/${projectId}/events`
  const { body: events, headers } = await transport.request<FeedEvent[]>('GET', path, options)
  const end = Number(nextCursor(headers.get('link'), 'after') ?? headers.get('docket-version'))
  return { events, end }
}

/** Returns the tasks, labels and fields of a project at one version, even if others write meanwhile. */
export async function readSnapshot(
  transport: Transport,
  projectId: string,
  signal: Signal,
): Promise<Snapshot> {
  for (;;) {
    const snapshot = await tryRead(transport, projectId, signal).catch((error: unknown) => {
      if (hasStatus(error, 410)) return undefined
      throw error
    })
    if (snapshot) return snapshot
  }
}

/** Reads all pages, then applies the events since the oldest page. Returns undefined if these events are not sufficient. */
async function tryRead(
  transport: Transport,
  projectId: string,
  signal: Signal,
): Promise<Snapshot | undefined> {
  const calls = new Calls(transport)
  let [first, last] = [Infinity, 0]
  const all = async <Row>(list: List<Row>): Promise<Row[]> => {
    const found: Row[] = []
    for (let next: string | undefined | null = null; next !== undefined;) {
      const { rows, cursor, version }: Page<Row> = await list.page(next ?? undefined)
      ;[first, last] = [Math.min(first, version!), Math.max(last, version!)]
      found.push(...rows)
      next = cursor
    }
    return found
  }
  const limit = rowsPerPage
  const labels = await all(
    calls.listById('listLabels', 'GET /projects/{id}/labels')(projectId, { limit }, { signal }),
  )
  const fields = await all(
    calls.listById('listFields', 'GET /projects/{id}/fields')(projectId, { limit }, { signal }),
  )
  const tasks = await all(calls.list('listTasks', 'GET /tasks')({ projectId, limit }, { signal }))
  const replica = new Replica({ tasks, labels, fields })
  for (let seq = first; seq < last;) {
    const { events } = await readEvents(transport, projectId, { after: seq, signal })
    for (const event of events) {
      if (event.seq > last) break
      // If an undo restores a row, tasks show its id again. Older pages lack this id.
      if ((event.undoes && event.after && !event.before) || !replica.apply(event)) return undefined
    }
    if (events.length === 0) return undefined
    seq = events.at(-1)!.seq
  }
  return { type: 'snapshot', seq: last, ...replica.contents() }
}
