import { getTableName } from 'drizzle-orm'
import { entities, type Loadable, loadable, type Rows } from '../../drizzle/entities.ts'
import type { MemberRow, ProjectRow } from '../../drizzle/rows.ts'
import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { inOrder } from '../postgres/in-order.ts'
import { openLoadChildren } from './load-children.ts'
import { loadIntegrations } from './load-integrations.ts'
import { type Needs, State } from './state.ts'
import { known } from '../postgres/known-columns.ts'

const limits = { keys: 500, slots: 2 }
type Finders = Record<Loadable, (id: string) => Promise<Rows[Loadable] | undefined>>

/** A project with its version and its members, as they are in one moment. */
interface Head extends ProjectRow {
  projectId: string
  version: number
  lastNumber: number
  lastEventId: string
  members: MemberRow[] | null
}

/** A member's columns as JSON, every one of them: what was left out would be lost when the member next changes. */
const memberJson: Record<keyof MemberRow, string> = {
  id: 'm.id',
  projectId: 'm.project_id',
  userId: 'm.user_id',
  role: 'm.role',
  createdAt: `to_char(m.created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  eventId: 'm.event_id',
}
const memberPairs = Object.entries(memberJson)
  .map(([key, value]) => `'${key}', ${value}`)
  .join(', ')

export type Loader = ReturnType<typeof openLoader>

/**
 * Loads what commands name, many projects in one query. Always the version first and the rows after it: a row
 * that is newer than its version makes the commit fail its comparison, an older one would not.
 */
export function openLoader(sql: Sql) {
  const heads = batched(limits, async (ids: string[]) => {
    const rows = await sql<Head[]>`
      select s.project_id, s.version::float8 as version, s.last_number, s.last_event_id, ${known(sql, entities.project.table, 'p')},
        (select jsonb_agg(jsonb_build_object(${sql.unsafe(memberPairs)}))
          from members m where m.project_id = p.id) as members
      from streams s left join projects p on p.id = s.project_id where s.project_id = any(${ids}::uuid[])`
    return inOrder(ids, rows, (row) => row.projectId)
  })
  const finder = (entity: Loadable) =>
    batched(limits, async (ids: string[]) => {
      const rows = await rowsOf(sql, entity, ids)
      return inOrder(ids, rows, (row) => row.id)
    })
  const loadChildren = openLoadChildren(sql)
  const find = Object.fromEntries(loadable.map((entity) => [entity, finder(entity)])) as Finders

  return {
    /** The project with its members. */
    async state(projectId: string): Promise<State> {
      const head = await heads(projectId)
      const state = new State(projectId, head?.version, head?.lastNumber, head?.lastEventId)
      if (!head?.id) return state
      const { id, ownerId, name, description, createdAt, eventId, members } = head
      state.project = { id, ownerId, name, description, createdAt, eventId }
      for (const member of members ?? []) state.put('member', member.id, member)
      return state
    },

    /** Puts the rows that the commands name, and the state does not know yet, into it; an absent one as null. */
    async rows(state: State, needs: Needs[]): Promise<void> {
      const missing = missingFrom(state, needs)
      const found = await Promise.all(missing.map(({ entity, id }) => find[entity](id)))
      missing.forEach(({ entity, id }, i) => state.put(entity, id, found[i] ?? null))
      const leaving = leavingFrom(state, needs)
      if (leaving) state.leaving = await loadChildren(leaving)
      await loadIntegrations(sql, state, needs)
    },
  }
}

function rowsOf(sql: Sql, entity: Loadable, ids: string[]) {
  const { table } = entities[entity]
  return sql<Rows[Loadable][]>`
    select ${known(sql, table, 't')} from ${sql(getTableName(table))} t where id = any(${ids}::uuid[])`
}

/** The task that goes to another project, if it is here. */
const leavingFrom = (state: State, needs: Needs[]): string | undefined =>
  needs.find(({ leaving = '' }) => state.row('task', leaving)?.projectId === state.projectId)?.leaving

/** Each once, by kind and id: things of two kinds may have one id. */
function missingFrom(state: State, needs: Needs[]) {
  return loadable.flatMap((entity) => {
    const ids = needs.flatMap((named) => named[entity] ?? [])
    return [...new Set(ids)].flatMap((id) => (state.knows(entity, id) ? [] : { entity, id }))
  })
}
