import { entities, type IntegrationRows } from '../../drizzle/entities.ts'
import { Integrations, type WantedIntegrations } from '../facts/integrations.ts'
import { isId } from '../ids.ts'
import type { Sql } from '../postgres/database.ts'
import { known } from '../postgres/known-columns.ts'
import type { Needs, State } from './state.ts'

/** Tokens that are loaded at once: one more than one command may end. */
const maxTokens = 5_001

/** Loads the integrations that commands ask for into the state of their project. */
export async function loadIntegrations(sql: Sql, state: State, needs: Needs[]): Promise<void> {
  const wanted = needs.flatMap((named) => named.integrations ?? [])
  if (wanted.length === 0) return
  const { projectId } = state
  const [webhooks, people, accounts, tokens] = await Promise.all([
    ...webhooksOf(sql, projectId, wanted),
    ...accountsOf(sql, projectId, wanted),
  ])
  const integrations = new Integrations(new Set(people.map(({ id }) => id)))
  for (const row of webhooks) integrations.put('webhook', { ...row, cursor: Number(row.cursor) })
  for (const row of accounts) integrations.put('service_account', row)
  for (const row of tokens) integrations.put('token', row)
  state.integrations = integrations
}

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

/** Webhooks, and those of their creators whose accounts exist. */
function webhooksOf(sql: Sql, projectId: string, wanted: WantedIntegrations[]) {
  const needsAll = wanted.some(({ webhooks }) => webhooks)
  return [
    sql<IntegrationRows['webhook'][]>`${withCreators(sql, projectId, wanted)}
      select ${known(sql, entities.webhook.table, 'w')} from webhooks w
      where w.project_id = ${projectId} and (${needsAll} or w.created_by in (select id from creators)) order by w.id`,
    sql<{ id: string }[]>`
      select id from users where id = any(array(select created_by from webhooks where project_id = ${projectId}))`,
  ] as const
}

/** Service accounts that are members, and tokens of such accounts. */
function accountsOf(sql: Sql, projectId: string, wanted: WantedIntegrations[]) {
  const ids = idsOf(wanted, 'accountId')
  return [
    sql<IntegrationRows['service_account'][]>`${withCreators(sql, projectId, wanted)}
      select ${known(sql, entities.service_account.table, 'u')} from users u
      join members m on m.project_id = u.project_id and m.user_id = u.id
      where u.project_id = ${projectId} and (u.id = any(${ids}::uuid[]) or u.id in (select id from creators))
      order by u.id`,
    sql<IntegrationRows['token'][]>`${withCreators(sql, projectId, wanted)}
      select ${known(sql, entities.token.table, 't')} from api_tokens t
      join users u on u.id = t.user_id and u.token_version = t.version
      where u.project_id = ${projectId} and (u.id = any(${ids}::uuid[]) or t.created_by in (select id from creators))
      order by t.id limit ${maxTokens}`,
  ] as const
}
