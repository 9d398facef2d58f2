import { swagger } from '@elysiajs/swagger'
import { Elysia } from 'elysia'
import type { Config } from '../config.ts'
import { description } from '../openapi/description.ts'
import { completeDocument, type OpenApiDocument } from '../openapi/document.ts'
import { jsonHeaders } from '../responses/reply.ts'
import { commonErrors } from './common-errors.ts'
import { docsPath as path, staticResponse, pages } from './pages.ts'

const links = { docs: path, openapi: `${path}/json`, live: '/health/live', ready: '/health/ready' }

/** The body lists the links for clients that do not follow redirects. */
const redirectToPage = () =>
  new Response(JSON.stringify(links), { status: 302, headers: { ...jsonHeaders, location: path } })

export function docs(config: Config) {
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
          .onAfterHandle(({ request, response }) => {
            const read = () => JSON.stringify(completeDocument(response as OpenApiDocument, errors))
            document ??= staticResponse(read, { 'content-type': 'application/json' })
            return document(request)
          })
          .use(plugin),
      )
      // Replaces the plugin's page at the same path, which loads scripts from a CDN.
      .use(pages(config))
      .get('/api', redirectToPage, { detail: { hide: true } })
  )
}
