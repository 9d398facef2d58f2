import { swagger } from '@elysiajs/swagger'
import { Elysia } from 'elysia'
import type { Config } from '../config.ts'
import { description } from '../openapi/description.ts'
import { completeDocument, type OpenApiDocument } from '../openapi/document.ts'
import { jsonHeaders } from '../responses/reply.ts'
import { commonErrors } from './common-errors.ts'
import { docsPath as path, staticResponse, pages } from './pages.ts'

const links = { docs: path, openapi: `${path}/json`, live: '/health/live', ready: '/health/ready' }

/** Leads to the Swagger UI; the body has the links for a program that does not follow. */
const redirectToPage = () =>
  new Response(JSON.stringify(links), { status: 302, headers: { ...jsonHeaders, location: path } })

/** The pages, and the OpenAPI document at /api/docs/json. */
export function docs(config: Config) {
  const plugin = swagger({
    path,
    specPath: `${path}/json`,
    excludeStaticFile: false,
    exclude: [/^\/api\/docs/],
    documentation: description(config) as never,
  })
  const general = commonErrors(config)
  let document: ReturnType<typeof staticResponse> | undefined
  return new Elysia()
    .use(
      new Elysia()
        .onAfterHandle(({ request, response }) => {
          document ??= staticResponse(
            () => JSON.stringify(completeDocument(response as OpenApiDocument, general)),
            {
              'content-type': 'application/json',
            },
          )
          return document(request)
        })
        .use(plugin),
    )
    .use(pages(config)) // after the plugin: its own page at the same path loads a CDN, ours takes its place
    .get('/api', redirectToPage, { detail: { hide: true } })
}
