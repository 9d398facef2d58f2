import { Elysia } from 'elysia'
import type { RouteBuilders } from '../../src/http/route-builders.ts'
import type { Services } from '../../src/services.ts'
import { createOwnToken, deleteOwnToken, listOwnTokens } from './own-tokens.ts'

export const tokenRoutes = ({ queryRoute, sessionGuard, accountRoute }: RouteBuilders, services: Services) =>
  new Elysia({ prefix: '/tokens' })
    .use(sessionGuard)
    .post(...accountRoute('', createOwnToken(services), 'Create an API token'))
    .get(...queryRoute('', listOwnTokens(services), 'List my API tokens'))
    .delete(...accountRoute('/:id', deleteOwnToken(services), 'Revoke an API token'))
