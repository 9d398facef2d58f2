import { getTableName } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { isOfLaterEntity } from '../../drizzle/schema/log.ts'
import { counted, noHits } from '../metrics/counts.ts'
import type { Entity } from '../model/entities.ts'
import type { StoredEvent } from '../model/events.ts'
import { model } from '../model/model.ts'
import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { inOrder } from '../postgres/row-order.ts'
import { notFound, HttpError } from '../responses/errors.ts'
import { isId } from '../ids.ts'

/** Where something is: the actor to ask, and the task it hangs on. */
export interface Place {
  projectId: string
  taskId: string | null
  /** The task's number there. A task that moves away and back gets a new one: same number, never away. */
  number: number
}

/** A row that belongs to a task. */
export interface Part {
  kind: Entity
  id: string
}

type Known = Record<Entity, Recalled>

export type Places = ReturnType<typeof openPlaces>

/** Places of one entity that are kept at least; twice as many at most. */
const mostYoung = 50_000

/** Not found, or forbidden: in the project that a thing moved to, its caller may have another role. */
const mayBeElsewhere = new Set([403, 404])

/** Finds the project of what a path names by its id alone. Remembers, for the actor notices when a place is old. */
export function openPlaces(sql: Sql, counts = noHits()) {
  const known = each(() => new Recalled())
  const find = each((kind) => openFind(sql, kind))
  const findTaken = openFindTaken(sql)
  const recall = (kind: Entity, id: string) => counted(counts, known[kind].get(id))
  return {
    add: (events: StoredEvent[]) => remember(known, events),

    /** The task of a part: always the same one, wherever the task goes. */
    async taskOf({ kind, id }: Part): Promise<string | null> {
      const place = isId(id) ? (recall(kind, id) ?? (await find[kind](id))) : undefined
      return place?.taskId ?? null
    },
    /** True when something has this id, or is still owed work from when it had. */
    isTaken: async (id: string): Promise<boolean> => (await findTaken(id)) !== undefined,

    /**
     * Runs `work` at the thing's place, and again when it proves to have moved meanwhile.
     * @throws HttpError 404 naming `what`
     */
    async at<T>(kind: Entity, id: string, what: string, work: (place: Place) => Promise<T>): Promise<T> {
      if (!isId(id)) throw notFound(what)
      const recalled = recall(kind, id)
      let place = recalled ?? (await find[kind](id))
      while (place) {
        if (place !== recalled) known[kind].set(id, place)
        try {
          return await work(place)
        } catch (error) {
          if (!(error instanceof HttpError) || !mayBeElsewhere.has(error.status)) throw error
          known[kind].delete(id)
          const now = await find[kind](id)
          if (now?.projectId === place.projectId && now.number === place.number) throw error
          place = now
        }
      }
      throw notFound(what)
    },
  }
}

const each = <T>(make: (kind: Entity) => T) =>
  Object.fromEntries(model().names.map((kind) => [kind, make(kind)])) as Record<Entity, T>

/** Places of one entity in two generations: an LRU cache would cost each create 3,000 instructions more. */
class Recalled {
  private young = new Map<string, Place>()
  private old = new Map<string, Place>()

  get(id: string): Place | undefined {
    return this.young.get(id) ?? this.old.get(id)
  }

  set(id: string, place: Place): void {
    if (this.young.size >= mostYoung) [this.old, this.young] = [this.young, new Map()]
    this.young.set(id, place)
  }

  delete(id: string): void {
    this.young.delete(id)
    this.old.delete(id)
  }
}

/** Remembers where new tasks and their children are: clients write many of them again soon. */
function remember(known: Known, events: StoredEvent[]): void {
  for (const { entity, entityId, projectId, before, after } of events) {
    if (before || !after) continue
    const { number, taskId } = after as { number: number; taskId?: string }
    const place =
      entity === 'task' ? { projectId, taskId: entityId, number } : taskId && known.task.get(taskId)
    if (place) known[entity].set(entityId, place)
  }
}

function openFind(sql: Sql, kind: Entity) {
  const { table, parent } = model().entities[kind]
  const from = sql(getTableName(table))
  const select =
    kind === 'task'
      ? sql`select id, id as task_id, project_id, number from tasks c`
      : parent === 'task'
        ? sql`select c.id, c.task_id, t.project_id, t.number from ${from} c join tasks t on t.id = c.task_id`
        : sql`select id, null::uuid as task_id, project_id, 0 as number from ${from} c`
  return batched({ keys: 500, slots: 2 }, async (ids: string[]) => {
    const rows = await sql<(Place & { id: string })[]>`${select} where c.id = any(${ids}::uuid[])`
    return inOrder(ids, rows, ({ id }) => id)
  })
}

/**
 * What has an id, or had it: as long as the log tells of it, and a project's for good. What waits to be removed, or is
 * remembered of what is gone, would be taken for the new one's.
 */
function openFindTaken(sql: Sql) {
  const { all, ofTask } = model()
  const isIn = (table: PgTable, column: string) =>
    `exists (select from ${getTableName(table)} where ${column} = q.id)`
  const places = [
    ...all.flatMap(({ table, parent, load }) => (parent && load !== 'on demand' ? isIn(table, 'id') : [])),
    ...ofTask.map(({ table }) => isIn(table, 'task_id')),
  ]
  return batched({ keys: 500, slots: 2 }, async (ids: string[]) => {
    const rows = await sql<{ id: string }[]>`
      select id from unnest(${ids}::uuid[]) q(id)
      where exists (select from streams where project_id = q.id)
        or exists (select from gone_projects where project_id = q.id)
        or exists (select from users u where u.id = q.id) or exists (select from events e where e.task_id = q.id)
        or ${sql.unsafe(places.join(' or '))}
        or exists (select from events e
          where e.entity_id = q.id and e.entity in ('subtask', 'comment') and e.before is null)
        or exists (select from events e where e.entity_id = q.id and ${sql.unsafe(isOfLaterEntity('e'))})
        or q.id::text in (select data ->> 'taskId' from outbox where data ->> 'taskId' is not null)`
    return inOrder(ids, rows, ({ id }) => id)
  })
}
