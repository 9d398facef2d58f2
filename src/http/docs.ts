import { swagger } from '@elysiajs/swagger'
import { Elysia } from 'elysia'
import type { Config } from '../config.ts'
import { description } from '../openapi/description.ts'
import { completeDocument, type OpenApiDocument } from '../openapi/document.ts'
import { type BasePaths, trustsProxies } from '../proxies.ts'
import { jsonHeaders } from '../responses/reply.ts'
import { commonErrors } from './common-errors.ts'
import { docsPath as path, staticResponse, pages } from './pages.ts'

/** Adds the path that proxies remove to the paths in `Location` and `Link`, which name resources of this service. */
export function prefixLinks(basePaths: BasePaths, { basePath, trustProxy }: Config) {
  const app = new Elysia({ name: 'prefix-links' })
  if (!basePath && !trustsProxies(trustProxy)) return app
  return app.mapResponse({ as: 'global' }, ({ request, server, response }) => {
    if (!(response instanceof Response)) return
    const { headers } = response
    const [location, link] = [headers.get('location'), headers.get('link')]
    if (location) headers.set('location', basePaths.of(request, server) + location)
    if (link) headers.set('link', link.replace('<', `<${basePaths.of(request, server)}`))
  })
}

/** The body lists the links for clients that do not follow redirects. */
function redirectToPage(basePath: string): Response {
  const docs = `${basePath}${path}`
  const health = `${basePath}/health`
  const links = { docs, openapi: `${docs}/json`, live: `${health}/live`, ready: `${health}/ready` }
  return new Response(JSON.stringify(links), { status: 302, headers: { ...jsonHeaders, location: path } })
}

export function docs(config: Config, basePaths: BasePaths) {
  const plugin = swagger({
    path,
    specPath: `${path}/json`,
    excludeStaticFile: false,
    exclude: [/^\/api\/docs/],
    documentation: description(config) as never,
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
      .get('/api', ({ request, server }) => redirectToPage(basePaths.of(request, server)), {
        detail: { hide: true },
      })
  )
}
