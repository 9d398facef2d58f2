import { getTableName } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import { type ChildOfTask, entities, type Loadable, loadable } from '../../drizzle/entities.ts'
import { counted, noHits } from '../metrics/counts.ts'
import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { inOrder } from '../postgres/in-order.ts'
import { notFound, Refusal } from '../wire/refusals.ts'
import { isId } from '../ids.ts'

/** Where something is: the actor to ask, and the task it hangs on. */
export interface Place {
  projectId: string
  taskId: string
  /** The task's number there. A task that moves away and back gets a new one: same number, never away. */
  number: number
}

/** What hangs on a task. */
export interface Part {
  kind: ChildOfTask
  id: string
}

export type Places = ReturnType<typeof openPlaces>

/** Not found, or forbidden: in the project that a thing moved to, its caller may have another role. */
const mayBeElsewhere = new Set([403, 404])

/** Finds the project of what a path names by its id alone. Remembers, for the actor notices when a place is old. */
export function openPlaces(sql: Sql, counts = noHits()) {
  // Apart by kind: the id of a task is not the id of a comment.
  const known = each(() => new LRUCache<string, Place>({ max: 100_000 }))
  const find = each((kind) => openFind(sql, kind))
  const findTaken = openFindTaken(sql)
  const recall = (kind: Loadable, id: string) => counted(counts, known[kind].get(id))
  return {
    /** The task that a part hangs on: always the same one, wherever that goes. */
    async taskOf({ kind, id }: Part): Promise<string | null> {
      const place = isId(id) ? (recall(kind, id) ?? (await find[kind](id))) : undefined
      return place?.taskId ?? null
    },

    /** True when something has this id, or is still owed work from when it had. */
    async isTaken(id: string): Promise<boolean> {
      return (await findTaken(id)) !== undefined
    },

    /**
     * Runs `work` at the thing's place, and again when it proves to have moved meanwhile.
     * @throws Refusal 404 naming `what`
     */
    async at<T>(kind: Loadable, id: string, what: string, work: (place: Place) => Promise<T>): Promise<T> {
      let place = isId(id) ? (recall(kind, id) ?? (await find[kind](id))) : undefined
      while (place) {
        known[kind].set(id, place)
        try {
          return await work(place)
        } catch (error) {
          if (!(error instanceof Refusal) || !mayBeElsewhere.has(error.status)) throw error
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

const each = <T>(make: (kind: Loadable) => T) =>
  Object.fromEntries(loadable.map((kind) => [kind, make(kind)])) as Record<Loadable, T>

/** Finds where things of this kind are, many in one query. A thing hangs on its task, and a task is its own. */
function openFind(sql: Sql, kind: Loadable) {
  const { table, parent } = entities[kind]
  const select =
    parent === 'project'
      ? sql`select id, id as task_id, project_id, number from tasks c`
      : sql`select c.id, c.task_id, t.project_id, t.number
          from ${sql(getTableName(table))} c join tasks t on t.id = c.task_id`
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
  return batched({ keys: 500, slots: 2 }, async (ids: string[]) => {
    const rows = await sql<{ id: string }[]>`
      select id from unnest(${ids}::uuid[]) q(id)
      where exists (select from streams where project_id = q.id)
        or exists (select from gone_projects where project_id = q.id)
        or exists (select from users u where u.id = q.id) or exists (select from members m where m.id = q.id)
        or exists (select from tasks t where t.id = q.id) or exists (select from events e where e.task_id = q.id)
        or exists (select from subtasks s where s.id = q.id) or exists (select from subtasks s where s.task_id = q.id)
        or exists (select from comments c where c.id = q.id) or exists (select from comments c where c.task_id = q.id)
        or exists (select from events e
          where e.entity_id = q.id and e.entity in ('subtask', 'comment') and e.before is null)
        or q.id::text in (select data ->> 'taskId' from outbox where data ->> 'taskId' is not null)`
    return inOrder(ids, rows, ({ id }) => id)
  })
}
