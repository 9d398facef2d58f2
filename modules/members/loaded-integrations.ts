import { isId } from '../../src/id-format.ts'
import type { StoredRows } from '../../src/model/entities.ts'
import { type FactKind, factQuery } from '../../src/model/definition.ts'
import { definitionOf } from '../../src/model/model.ts'
import { columnList } from '../../src/postgres/columns.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'

interface Integrations {
  /** The creators, including deleted service accounts whose integrations still work. */
  links: { id: string; createdBy: string | null }[]
  isTruncated: boolean
}

interface Wanted {
  webhooks?: true
  accountId?: string
  /** A user id or member id: loads all integrations of this user, and of the service accounts that the user created. */
  creator?: string
  /** The command revokes the tokens, so all of them are loaded. Otherwise only as many are loaded as a reply lists. */
  revokes?: boolean
}

/** The maximum number of tokens loaded for a command that revokes them: one more than a command may revoke. */
const maxTokens = 5_001
/** The maximum number of tokens loaded for a reply that lists them. */
const maxListed = 100

/** The webhooks, service accounts and tokens that a command needs. */
export const integrations: FactKind<Integrations, Wanted> = {
  create: () => ({ links: [], isTruncated: false }),
  async load(sql, projectId, fact, wanted, put) {
    const accountIds = idsOf(wanted, 'accountId')
    fact.links = await linksOf(sql, projectId, idsOf(wanted, 'creator'))
    const creators = fact.links.map(({ id }) => id)
    const max = wanted.some(({ revokes }) => revokes) ? maxTokens : maxListed
    const tokens = (where: SqlPart, limit: number | null) => sql<StoredRows['token'][]>`
      select ${columnList(sql, definitionOf('token').table, 't')} from api_tokens t
      join users u on u.id = t.user_id and u.token_version = t.version
      where u.project_id = ${projectId} and ${where} order by t.id limit ${limit}::int`
    const wantsAll = wanted.some(({ webhooks }) => webhooks)
    const created = sql`t.created_by = any(${creators}::uuid[]) and u.id`
    const [webhooks, accounts, ofAccounts, own, others] = await Promise.all([
      sql<StoredRows['webhook'][]>`
        select ${columnList(sql, definitionOf('webhook').table, 'w')}, w.cursor::float8 as cursor,
          exists (select from users where id = w.created_by) as has_creator from webhooks w
        where w.project_id = ${projectId} and (${wantsAll} or w.created_by = any(${creators}::uuid[])) order by w.id`,
      sql<StoredRows['service_account'][]>`
        select ${columnList(sql, definitionOf('service_account').table, 'u')} from users u
        join members m on m.project_id = u.project_id and m.user_id = u.id
        where u.project_id = ${projectId} and u.id = any(${[...accountIds, ...creators]}::uuid[]) order by u.id`,
      tokens(sql`u.id = any(${accountIds}::uuid[])`, null),
      // A removal deletes these tokens with their accounts, unless another command of the group keeps the account.
      tokens(sql`${created} = any(${creators}::uuid[])`, max),
      tokens(sql`${created} <> all(${creators}::uuid[])`, max),
    ])
    fact.isTruncated = others.length === maxTokens
    for (const row of webhooks) put('webhook', row.id, row)
    for (const row of accounts) put('service_account', row.id, row)
    for (const row of [...ofAccounts, ...own, ...others]) put('token', row.id, row)
  },
}

export const integrationFacts = (wanted: Wanted) => ({ facts: [factQuery(integrations, wanted)] })

const idsOf = (wanted: Wanted[], name: 'accountId' | 'creator'): string[] =>
  wanted.flatMap(({ [name]: id }) => (id !== undefined && isId(id) ? id : []))

/** The accounts with these ids, and the service accounts that they created. */
async function linksOf(sql: Sql, projectId: string, ids: string[]): Promise<Integrations['links']> {
  if (ids.length === 0) return []
  return sql<Integrations['links']>`
    with recursive creators(id, created_by) as (
      select user_id, null::uuid from members
      where project_id = ${projectId} and (id = any(${ids}::uuid[]) or user_id = any(${ids}::uuid[]))
      union select u.id, u.created_by from users u join creators c on c.id = u.created_by
      where u.project_id = ${projectId})
    select id, created_by from creators`
}
