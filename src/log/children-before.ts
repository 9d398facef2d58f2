import type { ChildOfTask, Rows } from '../model/entities.ts'
import { type Children, mostMoved, noChildren } from './children.ts'
import { lengthOf } from '../model/model.ts'
import type { StoredEvent } from '../model/events.ts'
import type { LoggedEvent } from './past.ts'
import { arrivedWith } from './rows.ts'
import type { Sql } from '../postgres/database.ts'
import { untilFull } from '../reads/pages.ts'
import { tooLate } from '../wire/refusals.ts'

const pageEvents = 500
/** Events of one task that are looked at, at most. */
export const mostLooked = 100_000

/** A task just before an event of its project. */
export interface JustBefore {
  projectId: string
  taskId: string
  eventId: string
  /** How much was found so far: of one task, or of several that are read together. */
  found?: Found
  /** When the caller gives up, on the clock of performance.now(). */
  deadline?: number
}

interface Found {
  rows: number
  characters: number
}

type Told = Pick<StoredEvent, 'type' | 'entity' | 'entityId' | 'after'> & { id: string; isFirst: boolean }

/**
 * What hung on a task just before an event, as the events before it say: also when the rows themselves are gone. Read
 * backwards, to where the task came into the project. `too much` is what could not go along with the task to another one
 * either; `forgotten`, where its coming is no longer told.
 */
export async function childrenBefore(sql: Sql, at: JustBefore): Promise<Children | 'too much' | 'forgotten'> {
  const { found = { rows: 0, characters: 0 }, deadline = Infinity } = at
  const children = noChildren()
  const known = new Set<string>()
  const put = (child: ChildOfTask, id: string, row: Rows[ChildOfTask] | null) => {
    if (known.has(id)) return
    known.add(id)
    if (!row) return
    ;(children[child] as unknown[]).push(row)
    found.rows++
    found.characters += lengthOf(child, row)
  }
  const isTooMuch = () => found.rows > mostMoved.rows || found.characters > mostMoved.characters
  let before = at.eventId
  for (let looked = 0; looked < mostLooked;) {
    if (performance.now() > deadline) throw tooLate()
    const page = await pageBefore(sql, at, before)
    if (page.length === 0) return 'forgotten'
    for (const event of page) {
      const { entity, entityId, after } = event
      if (entity !== 'task') put(entity as ChildOfTask, entityId, after as Rows[ChildOfTask] | null)
      for (const [child, rows] of Object.entries(arrivedWith(event) ?? {}))
        for (const row of rows) put(child as ChildOfTask, row.id, row)
      if (event.isFirst) return isTooMuch() ? 'too much' : inOrder(children)
    }
    if (isTooMuch()) break
    looked += page.length
    before = page.at(-1)!.id
  }
  return 'too much'
}

const pageBefore = (sql: Sql, { projectId, taskId }: JustBefore, before: string) =>
  sql<Told[]>`${untilFull(
    sql,
    sql`select id, type, entity, entity_id, entity = 'task' and before is null as is_first,
      case when entity <> 'task' or type = 'task.moved_in' then after end as after
    from events where task_id = ${taskId} and id < ${before}::uuid and project_id = ${projectId}
    order by id desc limit ${pageEvents}`,
    sql`octet_length(after::text)`,
  )}`

/** As lists show them. */
function inOrder(children: Children): Children {
  for (const rows of Object.values(children)) rows.sort(byId)
  return children
}
const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)

/** Tasks whose children are read at once. */
const atOnce = 8

/** What hung on tasks that were deleted, by the seq of that. All of it together is to be no more than moves with a task. */
export async function childrenOf(
  sql: Sql,
  deleted: LoggedEvent[],
  deadline: number,
): Promise<Map<number, Children> | 'too much' | 'forgotten'> {
  const children = new Map<number, Children>()
  const found = { rows: 0, characters: 0 }
  for (let from = 0; from < deleted.length; from += atOnce) {
    const some = deleted.slice(from, from + atOnce)
    const read = await Promise.all(
      some.map(({ projectId, entityId: taskId, id: eventId }) =>
        childrenBefore(sql, { projectId, taskId, eventId, found, deadline }),
      ),
    )
    for (const [i, one] of read.entries()) {
      if (typeof one === 'string') return one
      children.set(some[i]!.seq, one)
    }
  }
  return children
}
