import { Elysia } from 'elysia'
import type { Http } from '../../src/http/http.ts'
import type { Services } from '../../src/services.ts'
import { createOwnToken, deleteOwnToken, listOwnTokens } from './own.ts'

export const tokenRoutes = ({ ask, claimed, write }: Http, services: Services) =>
  new Elysia({ prefix: '/tokens' })
    .use(claimed)
    .post(...write('', createOwnToken(services), 'Make an API token'))
    .get(...ask('', listOwnTokens(services), 'List my API tokens'))
    .delete(...write('/:id', deleteOwnToken(services), 'End an API token'))
