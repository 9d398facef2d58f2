import { swagger } from '@elysiajs/swagger'
import { Elysia } from 'elysia'
import type { Config } from '../config.ts'
import { description } from '../openapi/description.ts'
import { finished, type OpenApiDocument } from '../openapi/document.ts'
import { typed } from '../responses/reply.ts'
import { generalRefusals } from './general-errors.ts'
import { docsPath as path, fixed, pages } from './pages.ts'

const links = { docs: path, openapi: `${path}/json`, live: '/health/live', ready: '/health/ready' }

/** Leads to the Swagger UI; the body has the links for a program that does not follow. */
const leadToPage = () =>
  new Response(JSON.stringify(links), { status: 302, headers: { ...typed, location: path } })

/** The pages, and the OpenAPI document at /api/docs/json. */
export function docs(config: Config) {
  const plugin = swagger({
    path,
    specPath: `${path}/json`,
    excludeStaticFile: false,
    exclude: [/^\/api\/docs/],
    documentation: description(config) as never,
  })
  const general = generalRefusals(config)
  let document: ReturnType<typeof fixed> | undefined
  return new Elysia()
    .use(
      new Elysia()
        .onAfterHandle(({ request, response }) => {
          document ??= fixed(() => JSON.stringify(finished(response as OpenApiDocument, general)), {
            'content-type': 'application/json',
          })
          return document(request)
        })
        .use(plugin),
    )
    .use(pages(config)) // after the plugin: its own page at the same path loads a CDN, ours takes its place
    .get('/api', leadToPage, { detail: { hide: true } })
}
