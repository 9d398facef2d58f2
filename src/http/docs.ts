import { swagger } from '@elysiajs/swagger'
import { Elysia } from 'elysia'
import { mailboxFull } from '../actor/actors.ts'
import { tooManyOfAccount } from '../admission/fair-queue.ts'
import { claimEnded } from '../model/claims.ts'
import { keyReused } from '../commit/idempotency.ts'
import type { Config } from '../config.ts'
import { description, completeDocument, type OpenApiDocument } from '../openapi/document.ts'
import type { BasePaths } from '../proxies.ts'
import { type HttpError, internalError, invalidToken, missingToken, urlTooLong } from '../responses/errors.ts'
import { preconditionFailed } from '../responses/if-match.ts'
import { contentEncoded, notJson, notUtf8, tooLarge, tooSlow } from './json-body.ts'
import { rateLimited } from './limits.ts'
import { docsPath as path, pages, redirectTo, staticResponse } from './pages.ts'

/** Adds the path that proxies remove to the paths in `Location` and `Link`, which name resources of this service. */
export function prefixLinks(basePaths: BasePaths, { basePath, trustProxy }: Config) {
  const app = new Elysia({ name: 'prefix-links' })
  if (!basePath && !trustProxy) return app
  return app.mapResponse({ as: 'global' }, ({ request, server, response }) => {
    if (!(response instanceof Response)) return
    const { headers } = response
    const [location, link] = [headers.get('location'), headers.get('link')]
    if (location) headers.set('location', basePaths.of(request, server) + location)
    if (link) headers.set('link', link.replace('<', `<${basePaths.of(request, server)}`))
  })
}

/** Returns the errors that have the same text for every operation: one array per status, for the OpenAPI document. */
const commonErrors = ({ bodyBytes, bodyTimeoutMs }: Config): HttpError[][] => [
  [invalidToken(), missingToken()],
  [tooSlow(bodyTimeoutMs)],
  [preconditionFailed(), claimEnded()],
  [tooLarge(bodyBytes)],
  [urlTooLong()],
  [notJson(), notUtf8(), contentEncoded()],
  [keyReused()],
  [rateLimited({ name: 'reads', points: 6_000_000, seconds: 60 }, 2_000), tooManyOfAccount()],
  [internalError()],
  [mailboxFull()],
]

export function docs(config: Config, basePaths: BasePaths) {
  const plugin = swagger({
    path,
    specPath: `${path}/json`,
    excludeStaticFile: false,
    exclude: [/^\/api\/docs/],
    documentation: description() as never,
  })
  const errors = commonErrors(config)
  let document: ReturnType<typeof staticResponse> | undefined
  return (
    new Elysia()
      .use(
        new Elysia()
          .onAfterHandle(({ request, server, response }) => {
            const read = () => JSON.stringify(completeDocument(response as OpenApiDocument, errors))
            document ??= staticResponse(read, { 'content-type': 'application/json' }, basePaths)
            return document({ request, server })
          })
          .use(plugin),
      )
      // Replaces the plugin's page at the same path, which loads scripts from a CDN.
      .use(pages(config, basePaths))
      .get('/api', () => redirectTo(path), { detail: { hide: true } })
  )
}
