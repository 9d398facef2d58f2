import { getTableName } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { ProjectRow } from '../../drizzle/rows.ts'
import { isId } from '../id-format.ts'
import { type Children, maxMoved } from '../log/rows.ts'
import type { Entity, Rows, StoredRows } from '../model/entities.ts'
import { definitionOf, textLengthSql, model, isPlainRow } from '../model/model.ts'
import { grouped } from '../postgres/grouped.ts'
import { columnsOf, columnList } from '../postgres/columns.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import { inOrder } from '../postgres/row-order.ts'
import type { FindPerson } from '../reads/people.ts'
import { State, type CreatorLink, type ProjectState } from './state.ts'
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
      const movingTask = movingTaskIn(state, preloads)
      if (movingTask) state.movingChildren = await loadChildren(sql, movingTask)
      const integrations = loadIntegrations(sql, state, preloads)
      const [task] = await Promise.all([loadFacts(sql, state, preloads), integrations])
      if (task.length > 0) await loadMissing(find, state, [{ task }])
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

/** Loads only whether the referenced tasks exist in the project: replies show their ids, not their rows. */
async function loadReferencedTasks(sql: Sql, state: State, preloads: Preload[]): Promise<void> {
  const ids = unknownTasks(state, preloads)
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
  const missing = missingRows(state, preloads)
  const found = await Promise.all(missing.map(({ entity, id }) => find[entity](id)))
  missing.forEach(({ entity, id }, i) => state.put(entity, id, found[i] ?? null))
}

async function loadFacts(sql: Sql, state: State, preloads: Preload[]): Promise<string[]> {
  const queries = preloads.flatMap(({ facts = [] }) => facts)
  const load = async (isLast: boolean, taskIds: string[]) => {
    const some = queries.filter(({ kind }) => (kind.isLast ?? false) === isLast)
    const kinds = [...Map.groupBy(some, ({ kind }) => kind)].map(([kind, wanted]) => {
      const fact = state.facts.get(kind) ?? kind.create(state.projectId as never)
      state.facts.set(kind, fact)
      return kind.load(sql, fact as never, wanted.map((one) => one.wanted) as never, taskIds)
    })
    return (await Promise.all(kinds)).flatMap((ids) => ids ?? [])
  }
  const taskIds = preloads.flatMap(({ task = [] }) => task)
  const found = await load(false, taskIds)
  return [...found, ...(await load(true, [...taskIds, ...found]))]
}

async function loadHolders(findPerson: FindPerson, state: State, preloads: Preload[]): Promise<void> {
  const ids = preloads.flatMap(({ task = [] }) =>
    task.flatMap((id) => state.row('task', id)?.claimedBy ?? []),
  )
  const people = await Promise.all([...new Set(ids)].map((key) => findPerson({ by: 'id', key })))
  for (const person of people) if (person) state.people.set(person.id, person)
}

const movingTaskIn = (state: State, preloads: Preload[]): string | undefined =>
  preloads.find(({ movingTaskId = '' }) => state.row('task', movingTaskId)?.projectId === state.projectId)
    ?.movingTaskId

/** Loads a task's children. If more exist than may move, loads one row too many, so that the rule rejects the move. */
async function loadChildren(sql: Sql, taskId: string): Promise<Children> {
  const { ofTask } = model()
  const lists = await Promise.all(
    ofTask.map(async ({ name, table }) => {
      const rows = await sql<{ before: number }[]>`
        select * from (
          select *, coalesce(sum(${sql.unsafe(textLengthSql(name, 'char_length'))}) over (rows between unbounded preceding and 1 preceding), 0)::int4
            as before
          from (select ${columnList(sql, table, 't')} from ${sql(getTableName(table))} t where task_id = ${taskId}
            order by id, created_at limit ${maxMoved.rows + 1}) r) r
        where before <= ${maxMoved.characters}`
      return [name, rows.map(({ before: _, ...row }) => row)]
    }),
  )
  return Object.fromEntries(lists) as Children
}

/** The maximum number of tokens loaded for a command that revokes them: one more than a command may revoke. */
const maxTokens = 5_001
/** The maximum number of tokens loaded for a reply that lists them, or for an account that is deleted. */
const maxListed = 100

async function loadIntegrations(sql: Sql, state: State, preloads: Preload[]): Promise<void> {
  const wanted = preloads.flatMap((named) => named.integrations ?? [])
  if (wanted.length === 0) return
  const { projectId } = state
  const links = await linksOf(sql, projectId, idsOf(wanted, 'creator'))
  const creators = links.map(({ id }) => id)
  const [webhooks, accounts, tokens] = await Promise.all([
    webhooksOf(sql, projectId, creators, wanted),
    ...accountsOf(sql, projectId, creators, wanted),
  ])
  const isByCreator = ({ userId, createdBy }: StoredRows['token']) =>
    creators.includes(createdBy ?? '') && !creators.includes(userId)
  const isTruncated = tokens.length >= maxTokens && tokens.filter(isByCreator).length >= maxTokens
  state.onDemand = { links, isTruncated }
  for (const row of webhooks) state.put('webhook', row.id, row)
  for (const row of accounts) state.put('service_account', row.id, row)
  for (const row of tokens) state.put('token', row.id, row)
}

const idsOf = (wanted: IntegrationsQuery[], name: 'accountId' | 'creator'): string[] =>
  wanted.flatMap(({ [name]: id }) => (id !== undefined && isId(id) ? id : []))

/** The accounts with these ids, and the service accounts that they created. */
async function linksOf(sql: Sql, projectId: string, ids: string[]): Promise<CreatorLink[]> {
  if (ids.length === 0) return []
  return sql<CreatorLink[]>`
    with recursive creators(id, created_by) as (
      select user_id, null::uuid from members
      where project_id = ${projectId} and (id = any(${ids}::uuid[]) or user_id = any(${ids}::uuid[]))
      union select u.id, u.created_by from users u join creators c on c.id = u.created_by
      where u.project_id = ${projectId})
    select id, created_by from creators`
}

function webhooksOf(sql: Sql, projectId: string, creators: string[], wanted: IntegrationsQuery[]) {
  const wantsAll = wanted.some(({ webhooks }) => webhooks)
  return sql<StoredRows['webhook'][]>`
    select ${columnList(sql, definitionOf('webhook').table, 'w')}, w.cursor::float8 as cursor,
      exists (select from users where id = w.created_by) as has_creator from webhooks w
    where w.project_id = ${projectId} and (${wantsAll} or w.created_by = any(${creators}::uuid[])) order by w.id`
}

function accountsOf(sql: Sql, projectId: string, creators: string[], wanted: IntegrationsQuery[]) {
  const ids = idsOf(wanted, 'accountId')
  const tokens = (where: SqlPart) => sql`
    select ${columnList(sql, definitionOf('token').table, 't')} from api_tokens t
    join users u on u.id = t.user_id and u.token_version = t.version where u.project_id = ${projectId} and ${where}`
  const created = (where: SqlPart, limit: number) => sql`
    (${tokens(sql`t.created_by = any(${creators}::uuid[]) and ${where}`)} order by t.id limit ${limit})`
  const isOwn = sql`u.id = any(${creators}::uuid[])`
  return [
    sql<StoredRows['service_account'][]>`
      select ${columnList(sql, definitionOf('service_account').table, 'u')} from users u
      join members m on m.project_id = u.project_id and m.user_id = u.id
      where u.project_id = ${projectId} and (u.id = any(${ids}::uuid[]) or u.id = any(${creators}::uuid[]))
      order by u.id`,
    sql<StoredRows['token'][]>`
      ${tokens(sql`u.id = any(${ids}::uuid[])`)} union all ${created(isOwn, maxListed)}
      union all ${created(sql`not ${isOwn}`, wanted.some(({ revokes }) => revokes) ? maxTokens : maxListed)}`,
  ] as const
}

export type Preload = Partial<Record<Entity, string[]>> & {
  movingTaskId?: string
  /** Events to read from the log. The rows of these events are loaded too. */
  undo?: UndoSelection
  integrations?: IntegrationsQuery[]
  facts?: FactQuery[]
  /** Tasks to which the input refers, besides the tasks to which loaded rows refer. */
  referencedTasks?: string[]
}

/** The integrations that a command needs. They are loaded again for each group, because commands rarely need them. */
export interface IntegrationsQuery {
  webhooks?: true
  accountId?: string
  /** A user id or member id: loads all integrations of this user, and of the service accounts that the user created. */
  creator?: string
  /** The command revokes the tokens, so all of them are loaded. Otherwise only as many are loaded as a reply lists. */
  revokes?: boolean
}

/** Must be fast: it runs for each command. */
export function hasLoaded(state: ProjectState, preload: Preload): boolean {
  // These rows are loaded again for each group.
  if (preload.movingTaskId || preload.undo || preload.integrations || preload.facts?.length) return false
  for (const entity of model().byRow) {
    const ids = preload[entity]
    if (!ids) continue
    for (const id of ids) {
      const row = state.row(entity, id)
      if (!row && !state.isLoaded(entity, id)) return false
      if (!row || isPlainRow(entity, row)) continue
      if (!state.knowsAll(referencedTasks(entity, row))) return false
      // The name of a claim's holder is loaded again for each group.
      if ((row as { claimedBy?: string | null }).claimedBy) return false
    }
  }
  return preload.referencedTasks === undefined || state.knowsAll(preload.referencedTasks)
}

export function missingRows(state: ProjectState, preloads: Preload[]) {
  return model().byRow.flatMap((entity) => {
    const ids = preloads.flatMap((named) => named[entity] ?? [])
    return [...new Set(ids)].flatMap((id) => (state.isLoaded(entity, id) ? [] : { entity, id }))
  })
}

/** Tasks to which loaded rows or inputs refer, if it is unknown whether the project contains them. */
export function unknownTasks(state: ProjectState, preloads: Preload[]): string[] {
  const ids = preloads.flatMap((preload) => [
    ...(preload.referencedTasks ?? []),
    ...model().byRow.flatMap((entity) =>
      (preload[entity] ?? []).flatMap((id) => referencedTasks(entity, state.row(entity, id) ?? {})),
    ),
  ])
  return [...new Set(ids)].filter((id) => isId(id) && !state.knowsAll([id]))
}
