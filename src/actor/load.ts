import { getTableName } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { ProjectRow } from '../../drizzle/rows.ts'
import { isId } from '../id-format.ts'
import type { Entity, Rows } from '../model/entities.ts'
import { definitionOf, model, isPlainRow } from '../model/model.ts'
import { grouped, inOrder } from '../postgres/grouped.ts'
import { columnsOf, columnList } from '../postgres/columns.ts'
import type { Sql } from '../postgres/database.ts'
import type { FindPerson } from '../reads/people.ts'
import { State, type ProjectState } from './state.ts'
import type { UndoSelection } from '../log/undo-input.ts'
import type { FactQuery } from '../model/definition.ts'
import { referencedTasks } from '../model/references.ts'

const limits = { keys: 500, slots: 2 }

/** A project, its version and the rows of entities with `load: 'with project'`, from one database snapshot. */
interface Head extends ProjectRow {
  projectId: string
  version: number
  lastNumber: number
  lastEventId: string
  contents: Partial<Record<Entity, Rows[Entity][] | null>>
}

export type Loader = ReturnType<typeof openLoader>

/** Reads the version before the rows, so that a row newer than the version fails the compare-and-swap. */
export function openLoader(sql: Sql, findPerson: FindPerson) {
  const { table: projects } = definitionOf('project')
  const heads = grouped(limits, async (ids: string[]) => {
    const rows = await sql<Head[]>`
      select s.project_id, s.version::float8 as version, s.last_number, s.last_event_id, ${columnList(sql, projects, 'p')},
        ${sql.unsafe(contents())} as contents
      from streams s left join projects p on p.id = s.project_id where s.project_id = any(${ids}::uuid[])`
    return inOrder(ids, rows, (row) => row.projectId)
  })
  const find = Object.fromEntries(
    model().byRow.map((entity) => [entity, openFindRows(sql, definitionOf(entity).table)]),
  ) as FindRows

  return {
    async state(projectId: string): Promise<State> {
      const head = await heads(projectId)
      const state = new State(projectId, head?.version, head?.lastNumber, head?.lastEventId)
      if (!head?.id) return state
      const { id, ownerId, name, description, createdAt, eventId, textEdits } = head
      state.project = { id, ownerId, name, description, createdAt, eventId, textEdits }
      for (const [entity, rows] of Object.entries(head.contents))
        for (const row of rows ?? []) state.put(entity as Entity, row.id, row)
      return state
    },

    async rows(state: State, preloads: Preload[]): Promise<void> {
      await loadMissing(find, state, preloads)
      const parents = model().ofTask.flatMap(({ name }) =>
        preloads.flatMap((one) => (one[name] ?? []).flatMap((id) => state.row(name, id)?.taskId ?? [])),
      )
      const task = [...parents, ...(await loadFacts(sql, state, preloads))]
      await loadMissing(find, state, [{ task }])
      const all = [...preloads, { task }]
      await Promise.all([loadReferencedTasks(sql, state, all), loadHolders(findPerson, state, all)])
    },
  }
}

const openFindRows = (sql: Sql, table: PgTable) =>
  grouped(limits, async (ids: string[]) => {
    const rows = await sql<Rows[Entity][]>`
      select ${columnList(sql, table, 't')} from ${sql(getTableName(table))} t where id = any(${ids}::uuid[])`
    return inOrder(ids, rows, (row) => row.id)
  })

/** Loads only whether the referenced tasks are in the project: their rows could be many and long. */
async function loadReferencedTasks(sql: Sql, state: State, preloads: Preload[]): Promise<void> {
  const referenced = preloads.flatMap((preload) => [
    ...(preload.referencedTasks ?? []),
    ...model().byRow.flatMap((entity) =>
      (preload[entity] ?? []).flatMap((id) => referencedTasks(entity, state.row(entity, id) ?? {})),
    ),
  ])
  const ids = [...new Set(referenced)].filter((id) => isId(id) && !state.knowsTask(id))
  if (ids.length === 0) return
  // `offset 0` keeps Postgres from reading all tasks of a large project where most projects are small.
  const rows = await sql<{ id: string }[]>`
    select id from (select id, project_id from tasks where id = any(${ids}::uuid[]) offset 0) t
    where project_id = ${state.projectId}`
  const found = new Set(rows.map(({ id }) => id))
  for (const id of ids) state.setInProject(id, found.has(id))
}

/** SQL for rows of project `p`, with all columns, because a commit writes whole rows. */
function contents(): string {
  const lists = model().all.map(({ name, table, parent, load }) => {
    if (load !== 'with project' || parent !== 'project') return []
    const fields = columnsOf(table).map(({ key, name, type }) => {
      const value = type.startsWith('timestamp')
        ? `to_char(t.${name}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
        : `t.${name}`
      return `'${key}', ${value}`
    })
    return `'${name}', (select jsonb_agg(jsonb_build_object(${fields.join(', ')})) from ${getTableName(table)} t where t.project_id = p.id)`
  })
  return `jsonb_build_object(${lists.flat().join(', ')})`
}

type FindRows = Record<Entity, ReturnType<typeof openFindRows>>

async function loadMissing(find: FindRows, state: State, preloads: Preload[]): Promise<void> {
  const missing = model().byRow.flatMap((entity) => {
    const ids = new Set(preloads.flatMap((named) => named[entity] ?? []))
    return [...ids].flatMap((id) => (state.isLoaded(entity, id) ? [] : { entity, id }))
  })
  const found = await Promise.all(missing.map(({ entity, id }) => find[entity](id)))
  missing.forEach(({ entity, id }, i) => state.put(entity, id, found[i] ?? null))
}

async function loadFacts(sql: Sql, state: State, preloads: Preload[]): Promise<string[]> {
  const queries = preloads.flatMap(({ facts = [] }) => facts)
  const kinds = [...Map.groupBy(queries, ({ kind }) => kind)].map(([kind, wanted]) => {
    const fact = state.facts.get(kind) ?? kind.create()
    state.facts.set(kind, fact)
    const all = wanted.map((one) => one.wanted) as never
    return kind.load(sql, state.projectId, fact as never, all, state.put.bind(state))
  })
  return (await Promise.all(kinds)).flatMap((ids) => ids ?? [])
}

async function loadHolders(findPerson: FindPerson, state: State, preloads: Preload[]): Promise<void> {
  const ids = preloads.flatMap(({ task = [] }) =>
    task.flatMap((id) => state.row('task', id)?.claimedBy ?? []),
  )
  const people = await Promise.all([...new Set(ids)].map((key) => findPerson({ by: 'id', key })))
  for (const person of people) if (person) state.people.set(person.id, person)
}

export type Preload = Partial<Record<Entity, string[]>> & {
  movingTaskId?: string
  /** Events to read from the log. The rows of these events are loaded too. */
  undo?: UndoSelection
  facts?: FactQuery[]
  /** Tasks to which the input refers, besides the tasks to which loaded rows refer. */
  referencedTasks?: string[]
}

/** Must be fast: it runs for each command. */
export function hasLoaded(state: ProjectState, preload: Preload): boolean {
  // These rows are loaded again for each group.
  if (preload.movingTaskId || preload.undo || preload.facts?.length) return false
  for (const entity of model().byRow) {
    const ids = preload[entity]
    if (!ids) continue
    for (const id of ids) {
      const row = state.row(entity, id)
      if (!row && !state.isLoaded(entity, id)) return false
      const { taskId } = (row ?? {}) as { taskId?: string }
      if (taskId !== undefined && !state.isLoaded('task', taskId)) return false
      if (!row || isPlainRow(entity, row)) continue
      if (!areKnown(state, referencedTasks(entity, row))) return false
      // The name of a claim's holder is loaded again for each group.
      if ((row as { claimedBy?: string | null }).claimedBy) return false
    }
  }
  return preload.referencedTasks === undefined || areKnown(state, preload.referencedTasks)
}

const areKnown = (state: ProjectState, taskIds: string[]): boolean =>
  taskIds.every((id) => state.knowsTask(id))
