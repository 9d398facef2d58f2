import { getTableName } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import { entities, type Loadable, loadable } from '../../drizzle/entities.ts'
import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { notFound, Refusal } from '../wire/refusals.ts'
import { isId } from '../ids.ts'

/** Where something is: the actor to ask, and the task it hangs on. */
export interface Place {
  projectId: string
  taskId: string
  /** The task's number there. A task that moves away and back gets a new one: same number, never away. */
  number: number
}

export type Places = ReturnType<typeof openPlaces>

/** Finds the project of what a path names by its id alone. Remembers, for the actor notices when a place is old. */
export function openPlaces(sql: Sql) {
  type Found = Place & { id: string }
  /** A thing hangs on its task, and a task is its own. */
  const look = (kind: Loadable, ids: string[]) => {
    const { table, parent } = entities[kind]
    if (parent === 'project')
      return sql<
        Found[]
      >`select id, id as task_id, project_id, number from tasks where id = any(${ids}::uuid[])`
    return sql<Found[]>`
      select c.id, c.task_id, t.project_id, t.number from ${sql(getTableName(table))} c join tasks t on t.id = c.task_id
      where c.id = any(${ids}::uuid[])`
  }
  // Apart by kind: the id of a task is not the id of a comment.
  const map = () => new LRUCache<string, Place>({ max: 100_000 })
  const known = each(map)
  const finder = (kind: Loadable) =>
    batched({ keys: 500, slots: 2 }, async (ids: string[]) => {
      const found = new Map((await look(kind, ids)).map(({ id, ...place }) => [id, place]))
      return ids.map((id) => found.get(id))
    })
  const find = each(finder)

  return {
    /**
     * Runs `work` at the thing's place, and again when it proves to have moved meanwhile.
     * @throws Refusal 404 naming `what`
     */
    async at<T>(kind: Loadable, id: string, what: string, work: (place: Place) => Promise<T>): Promise<T> {
      let place = isId(id) ? (known[kind].get(id) ?? (await find[kind](id))) : undefined
      while (place) {
        known[kind].set(id, place)
        try {
          return await work(place)
        } catch (error) {
          if (!(error instanceof Refusal) || error.status !== 404) throw error
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
