import type { AskedOfLog, LoggedEvent } from '../facts/past.ts'
import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { eventFields } from '../postgres/event-fields.ts'
import { byOrdinal } from '../postgres/in-order.ts'
import { mostAround, mostUndone } from './limits.ts'

/** An event's columns under `e`, as rules know them. */
export const eventColumns = (sql: Sql) => sql`${eventFields(sql)}, e.before, e.after`

/** A project at the version that a command is decided on. */
export interface At {
  projectId: string
  version: number
}

/** Reads what a command asks for, in order; null for a seq that is not told. Single events, many in one query. */
export function openAskedEvents(sql: Sql) {
  const one = batched({ keys: 500, slots: 2 }, async (keys: { projectId: string; seq: number }[]) => {
    const rows = await sql<(LoggedEvent & { n: number })[]>`
      select q.n::int4 as n, ${eventColumns(sql)}
      from unnest(${keys.map(({ projectId }) => projectId)}::uuid[], ${keys.map(({ seq }) => seq)}::bigint[])
        with ordinality q(project_id, seq, n)
      cross join lateral (select * from events where project_id = q.project_id and seq = q.seq limit 1) e`
    return byOrdinal(keys.length, rows)
  })

  /** Seqs have no gaps: how far a batch may go is known before. What comes with a task that came back is one with it. */
  async function ofBatch({ projectId, version }: At, batch: number): Promise<(LoggedEvent | null)[]> {
    if (batch > version) return [null]
    const upTo = batch + mostUndone + mostAround
    const rows = await sql<LoggedEvent[]>`
      select ${eventColumns(sql)} from events e
      where e.project_id = ${projectId} and e.seq >= ${batch} and e.seq <= ${upTo} and e.batch = ${batch}
      order by e.seq`
    return rows[0]?.seq === batch ? rows : [null]
  }

  return async (at: At, { seqs = [], batch }: AskedOfLog): Promise<(LoggedEvent | null)[]> => {
    if (batch !== undefined) return withoutCompany(await ofBatch(at, batch))
    const { projectId, version } = at
    const found = seqs.map(async (seq) => (seq <= version ? ((await one({ projectId, seq })) ?? null) : null))
    return withoutCompany(await Promise.all(found))
  }
}

/** Without what came back with a task that is among them, and did nothing else: it goes with that again. */
function withoutCompany(events: (LoggedEvent | null)[]): (LoggedEvent | null)[] {
  const nameOf = ({ taskId, undoes }: LoggedEvent) => `${taskId} ${undoes}`
  const cameBack = (event: LoggedEvent) => event.undoes != null && !event.before
  const tasks = events.filter((event) => event?.entity === 'task' && cameBack(event)) as LoggedEvent[]
  if (tasks.length === 0) return events
  const back = new Set(tasks.map(nameOf))
  const about = Map.groupBy(events, (event) => event?.entityId)
  const isCompany = (event: LoggedEvent) =>
    event.entity !== 'task' &&
    cameBack(event) &&
    back.has(nameOf(event)) &&
    about.get(event.entityId)!.length === 1
  return events.filter((event) => !event || !isCompany(event))
}
