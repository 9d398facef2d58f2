import type { StoredRows } from '../model/entities.ts'
import { definitionOf } from '../model/model.ts'
import { isId } from '../id-format.ts'
import { columnList } from '../postgres/columns.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import type { Preload, IntegrationsQuery } from './preload.ts'
import type { CreatorLink, State } from './state.ts'

/** Tokens loaded for a command that revokes them: one more than a command may revoke. */
const maxTokens = 5_001
/** Tokens loaded for a reply that lists them, or for an account that is deleted. */
const maxListed = 100

export async function loadIntegrations(sql: Sql, state: State, preloads: Preload[]): Promise<void> {
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
