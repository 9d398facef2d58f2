import { getTableName } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { isOfLaterEntity } from '../../drizzle/schema/log.ts'
import { newHits } from '../metrics/counts.ts'
import type { Entity } from '../model/entities.ts'
import type { StoredEvent } from '../model/events.ts'
import { model } from '../model/model.ts'
import { grouped, inOrder } from '../postgres/grouped.ts'
import type { Sql } from '../postgres/database.ts'
import { notFound, HttpError } from '../responses/errors.ts'
import { isId } from '../id-format.ts'

interface RowLocation {
  projectId: string
  /** The task's number in the project. A task that moved away and back has another number. */
  number: number
}

export type RowLocations = ReturnType<typeof openRowLocations>

/** The maximum number of cached rows of an entity. */
const maxLocations = 100_000

/** If a row has moved, a command sent to its old project gets 404 (no such row) or 403 (no sufficient role). */
const statusesAfterMove = new Set([403, 404])

type Work<T> = (location: RowLocation) => Promise<T>

/** Finds a row's project by the row's id. If a cached location is old, the old project's actor rejects the command. */
export function openRowLocations(sql: Sql, counts = newHits()) {
  const caches = each(() => new Map<string, RowLocation>())
  const find = each((kind) => openFind(sql, kind))
  const findTaken = openFindTaken(sql)
  return {
    add: (events: StoredEvent[]) => cacheNew(caches, events),

    isTaken: async (id: string): Promise<boolean> => (await findTaken(id)) !== undefined,

    /** If the row has moved, calls `work` again with the new location. @throws HttpError 404 that names `noun` */
    at<T>(kind: Entity, id: string, noun: string, work: Work<T>): Promise<T> {
      if (!isId(id)) return Promise.reject(notFound(noun))
      const workAt = (location: RowLocation): Promise<T> =>
        work(location).catch((error: unknown) => {
          if (!(error instanceof HttpError) || !statusesAfterMove.has(error.status)) throw error
          caches[kind].delete(id)
          return workAtFound(location, error)
        })
      const workAtFound = async (previous?: RowLocation, error?: HttpError) => {
        const found = await find[kind](id)
        if (!found) throw notFound(noun)
        if (found.projectId === previous?.projectId && found.number === previous.number) throw error
        cache(caches[kind], id, found)
        return workAt(found)
      }
      const cached = caches[kind].get(id)
      counts[cached ? 'hits' : 'misses']++
      return cached ? workAt(cached) : workAtFound()
    },
  }
}

const each = <T>(make: (kind: Entity) => T) =>
  Object.fromEntries(model().names.map((kind) => [kind, make(kind)])) as Record<Entity, T>

/** Forgets all rows instead of the oldest: an LRU cache costs three times as much. */
function cache(locations: Map<string, RowLocation>, id: string, location: RowLocation): void {
  if (locations.size >= maxLocations) locations.clear()
  locations.set(id, location)
}

function cacheNew(caches: Record<Entity, Map<string, RowLocation>>, events: StoredEvent[]): void {
  for (const { entity, entityId, projectId, before, after } of events) {
    if (before || !after) continue
    const { number, taskId } = after as { number: number; taskId?: string }
    const location = entity === 'task' ? { projectId, number } : taskId && caches.task.get(taskId)
    if (location) cache(caches[entity], entityId, location)
  }
}

function openFind(sql: Sql, kind: Entity) {
  const { table, parent } = model().entities[kind]
  const from = sql(getTableName(table))
  const select =
    kind === 'task'
      ? sql`select id, project_id, number from tasks c`
      : parent === 'task'
        ? sql`select c.id, t.project_id, t.number from ${from} c join tasks t on t.id = c.task_id`
        : sql`select id, project_id, 0 as number from ${from} c`
  return grouped({ keys: 500, slots: 2 }, async (ids: string[]) => {
    const rows = await sql<(RowLocation & { id: string })[]>`${select} where c.id = any(${ids}::uuid[])`
    return inOrder(ids, rows, ({ id }) => id)
  })
}

/**
 * Finds the ids that a new row must not have. With the id of an existing or deleted row, events, jobs and caches of
 * that row would be used for the new row.
 */
function openFindTaken(sql: Sql) {
  const { all, ofTask } = model()
  const isIn = (table: PgTable, column: string) =>
    `exists (select from ${getTableName(table)} where ${column} = q.id)`
  const tables = [
    ...all.flatMap(({ table, parent, load }) => (parent && load !== 'on demand' ? isIn(table, 'id') : [])),
    ...ofTask.map(({ table }) => isIn(table, 'task_id')),
  ]
  return grouped({ keys: 500, slots: 2 }, async (ids: string[]) => {
    const rows = await sql<{ id: string }[]>`
      select id from unnest(${ids}::uuid[]) q(id)
      where exists (select from streams where project_id = q.id)
        or exists (select from gone_projects where project_id = q.id)
        or exists (select from users u where u.id = q.id) or exists (select from events e where e.task_id = q.id)
        or ${sql.unsafe(tables.join(' or '))}
        or exists (select from events e
          where e.entity_id = q.id and e.entity in ('subtask', 'comment') and e.before is null)
        or exists (select from events e where e.entity_id = q.id and ${sql.unsafe(isOfLaterEntity('e'))})
        or exists (select from outbox where data ->> 'taskId' = q.id::text)`
    return inOrder(ids, rows, ({ id }) => id)
  })
}
