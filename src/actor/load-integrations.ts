import type { StoredRows } from '../model/entities.ts'
import { definitionOf } from '../model/model.ts'
import { isId } from '../ids.ts'
import { known } from '../postgres/columns.ts'
import type { Sql } from '../postgres/database.ts'
import type { Needs, WantedIntegrations } from './needs.ts'
import type { State } from './state.ts'

/** Tokens that are loaded at once: one more than one command may end. */
const maxTokens = 5_001

/** Loads the integrations that commands ask for into the state of their project. */
export async function loadIntegrations(sql: Sql, state: State, needs: Needs[]): Promise<void> {
  const wanted = needs.flatMap((named) => named.integrations ?? [])
  if (wanted.length === 0) return
  const { projectId } = state
  const [webhooks, accounts, tokens] = await Promise.all([
    webhooksOf(sql, projectId, wanted),
    ...accountsOf(sql, projectId, wanted),
  ])
  state.hasDemanded = true
  for (const row of webhooks) state.put('webhook', row.id, withCursor(row))
  for (const row of accounts) state.put('service_account', row.id, row)
  for (const row of tokens) state.put('token', row.id, row)
}

/** The driver returns a bigint as text. */
const withCursor = (row: StoredRows['webhook']) => ({ ...row, cursor: Number(row.cursor) })

const idsOf = (wanted: WantedIntegrations[], name: 'accountId' | 'creator'): string[] =>
  wanted.flatMap(({ [name]: id }) => (id !== undefined && isId(id) ? id : []))

/** The accounts whose creations are asked for, with the service accounts that they created. */
const withCreators = (sql: Sql, projectId: string, wanted: WantedIntegrations[]) => {
  const ids = idsOf(wanted, 'creator')
  return sql`with recursive creators(id) as (
    select user_id from members
    where project_id = ${projectId} and (id = any(${ids}::uuid[]) or user_id = any(${ids}::uuid[]))
    union select u.id from users u join creators c on c.id = u.created_by where u.project_id = ${projectId})`
}

/** Webhooks, each with whether the account that created it exists. */
function webhooksOf(sql: Sql, projectId: string, wanted: WantedIntegrations[]) {
  const needsAll = wanted.some(({ webhooks }) => webhooks)
  return sql<StoredRows['webhook'][]>`${withCreators(sql, projectId, wanted)}
    select ${known(sql, definitionOf('webhook').table, 'w')},
      exists (select from users where id = w.created_by) as has_creator from webhooks w
    where w.project_id = ${projectId} and (${needsAll} or w.created_by in (select id from creators)) order by w.id`
}

/** Service accounts that are members, and tokens of such accounts. */
function accountsOf(sql: Sql, projectId: string, wanted: WantedIntegrations[]) {
  const ids = idsOf(wanted, 'accountId')
  return [
    sql<StoredRows['service_account'][]>`${withCreators(sql, projectId, wanted)}
      select ${known(sql, definitionOf('service_account').table, 'u')} from users u
      join members m on m.project_id = u.project_id and m.user_id = u.id
      where u.project_id = ${projectId} and (u.id = any(${ids}::uuid[]) or u.id in (select id from creators))
      order by u.id`,
    sql<StoredRows['token'][]>`${withCreators(sql, projectId, wanted)}
      select ${known(sql, definitionOf('token').table, 't')} from api_tokens t
      join users u on u.id = t.user_id and u.token_version = t.version
      where u.project_id = ${projectId} and (u.id = any(${ids}::uuid[]) or t.created_by in (select id from creators))
      order by t.id limit ${maxTokens}`,
  ] as const
}
