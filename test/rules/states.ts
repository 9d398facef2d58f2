import type { StoredEvent } from '../../src/model/events.ts'
import { faultsIn, type Sql, visibleIn } from '../kit.ts'
import { readRows } from '../support/stored-rows.ts'

/** The values of all rows, by entity, id and field. */
export type State = Map<string, unknown>
/** An undo never restores a claim. */
const ignored = ['eventId', 'updatedAt', 'dueAfter', 'claimedBy', 'claimedUntil', 'claimSeq']
export async function stateOf(sql: Sql): Promise<State> {
  const rows = await readRows(sql)
  const isVisible = visibleIn(rows)
  const state: State = new Map()
  for (const { entity, row } of rows) {
    for (const [name, value] of isVisible(entity, row) ? Object.entries(row) : [])
      if (!ignored.includes(name)) state.set(`${entity} ${row.id} ${name}`, value)
  }
  return state
}

export type Difference = Map<string, { was: unknown; is: unknown }>
export function difference(before: State, after: State): Difference {
  const valueIn = (state: State, key: string) => state.get(key) ?? null
  const keys = [...before.keys(), ...after.keys()].filter(
    (key) => !Bun.deepEquals(valueIn(before, key), valueIn(after, key)),
  )
  return new Map(keys.sort().map((key) => [key, { was: before.get(key), is: after.get(key) }]))
}
export const reversed = (all: Difference): Difference =>
  new Map([...all].map(([key, { was, is }]) => [key, { was: is, is: was }]))

/** Returns `position` keys that an undo cannot restore, because another task of the state has the position. */
export const takenPositions = (wanted: Difference, state: State): string[] => {
  const taken = new Set([...state].flatMap(([key, value]) => (key.endsWith(' position') ? [value] : [])))
  return [...wanted].flatMap(([key, { is }]) =>
    key.endsWith(' position') && is != null && taken.has(is) ? [key] : [],
  )
}

export const isIn = (state: State, projectId: string, userId: string): boolean =>
  state.get(`project ${projectId} ownerId`) === userId ||
  [...state].some(([key, value]) => {
    const [entity, id, field] = key.split(' ')
    const isOfUser = entity === 'member' && field === 'userId' && value === userId
    return isOfUser && state.get(`member ${id} projectId`) === projectId
  })

/** Returns `assigneeId` keys of tasks that an undo restores unassigned, because the assignee is no member. */
export const unassignedOnRestore = (events: StoredEvent[], before: State, now = before): string[] =>
  events.flatMap(({ projectId, type, entityId }) => {
    const key = `task ${entityId} assigneeId`
    const userId = before.get(key)
    const isUnassigned =
      type === 'task.deleted' && typeof userId === 'string' && !isIn(now, projectId, userId)
    return isUnassigned ? key : []
  })

export const assigneeHadLeft = (events: StoredEvent[], before: State): boolean =>
  events.some(({ projectId, entity, before: row }) => {
    const { assigneeId } = (row ?? {}) as { assigneeId?: string | null }
    return entity === 'task' && assigneeId != null && !isIn(before, projectId, assigneeId)
  })

export const fieldsOf = ({ entity, entityId, before, after }: StoredEvent): string[] =>
  before && after ? Object.keys(before).map((name) => `${entity} ${entityId} ${name}`) : []

type Stream = { projectId: string; version: number; lastNumber: number }

/** All events, oldest first. Event ids are ordered by time, even across projects. */
export const readEvents = (sql: Sql) =>
  sql<StoredEvent[]>`select *, seq::float8 as seq from events order by id`

export const readStreams = (sql: Sql) => sql<Stream[]>`
  select project_id, version::float8 as version, last_number from streams order by project_id`

/** The logs of deleted projects count too: tasks and their children may have moved to other projects. */
export const faultsOfAll = async (sql: Sql): Promise<string[]> =>
  faultsIn(
    { events: await readEvents(sql), rows: await readRows(sql), streams: await readStreams(sql) },
    true,
  )

export const forgetAll = (sql: Sql) =>
  sql`truncate streams, events, outbox, projects, members, tasks, subtasks, comments, labels, task_fields, task_views`
