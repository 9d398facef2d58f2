import { expect } from 'bun:test'
import { model } from '../../modules/modules.ts'
import type { Entity } from '../../src/model/entities.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { fold, nothing } from '../support/fold.ts'
import { rowAfter, rowBefore } from '../../src/log/rows.ts'
import { evolve } from '../../src/actor/state.ts'
import { State } from '../../src/actor/state.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { storedRows } from '../support/stored-rows.ts'

type Row = { id: string }
type Tables = Record<Entity, Map<string, Row>>
/** A project's place in its own history. */
type Stream = { projectId: string; version: number; lastNumber: number }

const tablesOf = (rowsOf: (entity: Entity) => Map<string, Row>) =>
  Object.fromEntries(model.names.map((entity) => [entity, rowsOf(entity)])) as Tables

/** The history, oldest first: ids are made in the order in which rules decide, also across projects. */
export const readEvents = (sql: Sql) =>
  sql<StoredEvent[]>`select *, seq::float8 as seq from events order by id`

/** Every row of every table that events write. */
export async function readTables(sql: Sql): Promise<Tables> {
  const tables = tablesOf(() => new Map())
  for (const entity of model.names) {
    const rows = await storedRows<Row>(sql, entity)
    tables[entity] = new Map(rows.map((row) => [row.id, { ...row }]))
  }
  return tables
}

export async function readStreams(sql: Sql): Promise<Stream[]> {
  const rows = await sql<Stream[]>`
    select project_id, version::float8 as version, last_number from streams order by project_id`
  return rows.map((row) => ({ ...row }))
}

/** Folds a history into the rows it leaves, and holds every fact to the one before it about the same row. */
export function foldTables(events: StoredEvent[]): Tables {
  const tables = tablesOf(() => new Map())
  for (const event of events) {
    const { id, entity, entityId } = event
    const rows = tables[entity]
    // What came back with its task may not have been removed yet.
    const { taskId } = (event.after ?? {}) as { taskId?: string }
    if (event.undoes != null && taskId && !event.before) rows.delete(entityId)
    expect(rowBefore(event)).toEqual((rows.get(entityId) ?? null) as typeof event.after)
    const after = rowAfter(event)
    if (after) {
      expect([after.eventId, after.id]).toEqual([id, entityId])
      rows.set(entityId, after)
    } else rows.delete(entityId)
  }
  return tables
}

/** What each project's own events say is in it, all projects together. */
export function foldProjects(events: StoredEvent[]): Tables {
  const tables = tablesOf(() => new Map())
  for (const history of Map.groupBy(events, ({ projectId }) => projectId).values()) {
    const contents = history.toSorted((a, b) => a.seq - b.seq).reduce(fold, nothing())
    for (const name of model.names) for (const [id, row] of contents[name]) tables[name].set(id, row)
  }
  return tables
}

/** Folds each project's own history as its actor does; fails on a gap or a double in it. */
export function foldStreams(events: StoredEvent[]): Stream[] {
  const histories = [...Map.groupBy(events, ({ projectId }) => projectId)]
  return histories.sort().map(([projectId, history]) => {
    history.sort((a, b) => a.seq - b.seq)
    expect(history.map(({ seq }) => seq)).toEqual(history.map((_, i) => i + 1))
    const { version, lastNumber } = history.reduce(evolve, new State(projectId))
    return { projectId, version, lastNumber }
  })
}

/** The numbers that a project gave to tasks, in the order it gave them. */
export function numbersGiven(events: StoredEvent[], projectId: string): number[] {
  const given = events.filter(
    (e) => e.projectId === projectId && e.entity === 'task' && !e.before && e.after && e.undoes == null,
  )
  return given
    .sort((a, b) => a.seq - b.seq)
    .map(({ after }) => (after as unknown as { number: number }).number)
}

/** What is left of the rows once the workers have removed what deleted projects and tasks held. */
export function pruned(tables: Tables): Tables {
  const { project, task, service_account } = tables
  const stands = (row: Partial<Record<'id' | 'projectId' | 'taskId' | 'userId' | 'scopes', string>>) => {
    if (row.scopes) return service_account.has(row.userId!)
    const home = row.taskId ? task.get(row.taskId) : row
    return project.has((home as { projectId?: string } | undefined)?.projectId ?? row.id ?? '')
  }
  return tablesOf((entity) => new Map([...tables[entity]].filter(([, row]) => stands(row))))
}
