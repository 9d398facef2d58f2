import { adminQuery, type Query } from '../../src/commands/query.ts'
import type { Module } from '../../src/module.ts'
import { isId } from '../../src/id-format.ts'
import { requireVisible } from '../../src/reads/lookups.ts'
import { Cursor, cutToLimit, readIdPage, Limit, pageOf, idBeforePage } from '../../src/reads/pages.ts'
import { notFound } from '../../src/responses/errors.ts'
import { respondByDigest, respondWithJson } from '../../src/responses/reply.ts'
import { Input } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { tokensOf } from '../tokens/queries.ts'
import { tokenList } from '../tokens/schema.ts'
import { createServiceAccount, deleteServiceAccount, noAccount } from './commands.ts'
import { type ServiceAccount, serviceAccountView } from './schema.ts'
import { tokenHooks, createToken, deleteToken } from './tokens.ts'

const accountsPath = '/projects/:id/service-accounts'
const accountPath = `${accountsPath}/:accountId`
const tokensPath = `${accountPath}/tokens`

export const serviceAccounts: Module = {
  routes(services) {
    const { list, tokens } = serviceAccountReads(services)
    const { creating, deleting } = tokenHooks(services)
    return [
      ['post', accountsPath, createServiceAccount, 'Create a service account'],
      ['get', accountsPath, list, 'List service accounts'],
      ['delete', accountPath, deleteServiceAccount, 'Delete a service account'],
      ['post', tokensPath, createToken, 'Create a token of a service account', creating],
      ['get', tokensPath, tokens, 'List the tokens of a service account'],
      ['delete', `${tokensPath}/:tokenId`, deleteToken, 'Revoke a token of a service account', deleting],
    ]
  },
}

const serviceAccountReads = ({ database: { reads: sql }, findRole }: Services) => ({
  list: {
    about: 'Returns the service accounts, oldest first. The list of members contains them too.',
    input: Input({ limit: Limit(50, 200), cursor: Cursor() }),
    view: serviceAccountView,
    isList: true,
    errors: [notFound('Project')],
    async read({ request, caller, query, params: { id = '' } }) {
      const page = readIdPage(query, 50, 200)
      const { version } = await requireVisible(findRole, caller, id)
      const rows = await sql<ServiceAccount[]>`
        select u.id, u.name, m.project_id, m.id as member_id, m.role, u.created_at, m.event_id,
          (select c.id from users c where c.id = u.created_by) as created_by
        from users u join members m on m.project_id = u.project_id and m.user_id = u.id
        where u.project_id = ${id} and u.id > ${idBeforePage(page)} order by u.id limit ${page.limit + 1}`
      const shown = pageOf(request, cutToLimit(rows, page.limit), serviceAccountView.of, ({ id }) => [id])
      return respondByDigest(request, shown, version)
    },
  } satisfies Query,
  tokens: adminQuery(findRole, {
    ...tokenList,
    operation: { id: 'listServiceAccountTokens', tag: 'ServiceAccounts' },
    errors: [noAccount()],
    async read({ request, params: { accountId = '' } }, { projectId }) {
      const membership = sql`select from members m join users u on u.id = m.user_id and u.project_id = m.project_id
        where m.project_id = ${projectId} and m.user_id = ${accountId}`
      if (!isId(accountId) || (await membership).length === 0) throw noAccount()
      return respondWithJson(request, await tokensOf(sql, accountId))
    },
  }),
})
