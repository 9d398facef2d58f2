import { Elysia } from 'elysia'
import type { Http } from '../../src/http/http.ts'
import { operation } from '../../src/openapi/operation.ts'
import type { Services } from '../../src/services.ts'
import { createOwnToken, deleteOwnToken } from './own.ts'
import { tokensOf } from './queries.ts'
import { ApiTokensView } from './schema.ts'
import { digested } from '../../src/wire/answers.ts'

export const tokenRoutes = ({ claimed, write }: Http, services: Services) =>
  new Elysia({ prefix: '/tokens' })
    .use(claimed)
    .post(...write('', createOwnToken(services), 'Make an API token'))
    .get(
      '',
      async ({ request, claims }) => {
        await services.authenticate.require(claims)
        const tokens = await tokensOf(services.database.reads, claims)
        return digested(request, { body: JSON.stringify(tokens), link: null })
      },
      listing,
    )
    .delete(...write('/:id', deleteOwnToken(services), 'End an API token'))

const listing = operation({
  id: 'listTokens',
  tag: 'Tokens',
  summary: 'List my API tokens',
  description: 'Those that hold, the oldest first, without their secrets.',
  does: 'read',
  answers: { schema: ApiTokensView, description: 'All of them' },
})
