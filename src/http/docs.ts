import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { swagger } from '@elysiajs/swagger'
import { Elysia } from 'elysia'
import type { Config } from '../config.ts'
import { description } from '../openapi/description.ts'
import { finished, type OpenApiDocument } from '../openapi/document.ts'
import { gzipped, takesGzip, typed } from '../wire/answers.ts'
import { generalRefusals } from './general-refusals.ts'

const path = '/api/docs'
const types = {
  '': 'text/html; charset=utf-8',
  '/assets/start.js': 'text/javascript; charset=utf-8',
  '/assets/swagger-ui.css': 'text/css; charset=utf-8',
  '/assets/swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  '/assets/favicon-32x32.png': 'image/png',
}

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Docket API</title>
    <link rel="stylesheet" href="${path}/assets/swagger-ui.css">
    <link rel="icon" type="image/png" href="${path}/assets/favicon-32x32.png">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="${path}/assets/swagger-ui-bundle.js"></script>
    <script src="${path}/assets/start.js"></script>
  </body>
</html>
`

const startScript = `window.ui = SwaggerUIBundle({
  url: '${path}/json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  validatorUrl: null,
})
`

/** Scripts and styles only from here; Swagger UI sets style attributes and inlines its icons as data. */
const policy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"

/** The page and its parts as files: those of swagger-ui-dist, and two of our own. */
function contentOf(name: string): string | Uint8Array<ArrayBuffer> {
  if (name === '') return page
  if (name === '/assets/start.js') return startScript
  const { resolve } = createRequire(import.meta.url)
  return readFileSync(resolve(name.replace('/assets', 'swagger-ui-dist')))
}

/** Responds from memory, compressed once. `read` is called by the first request. */
function fixed(read: () => string | Uint8Array<ArrayBuffer>, own: Record<string, string>) {
  const headers = { ...own, 'x-content-type-options': 'nosniff', vary: 'Accept-Encoding' }
  let plain: ReturnType<typeof read> | undefined
  let small: ReturnType<typeof gzipped> | undefined
  return async (request: Request) => {
    plain ??= read()
    const body = takesGzip(request) ? await (small ??= gzipped(plain)) : plain
    if (body.length >= plain.length) return new Response(plain, { headers })
    return new Response(body, { headers: { ...headers, 'content-encoding': 'gzip' } })
  }
}

const links = { docs: path, openapi: `${path}/json`, live: '/health/live', ready: '/health/ready' }

/** Leads to the page from above it; the body has the links for a program that does not follow. */
const leadToPage = () =>
  new Response(JSON.stringify(links), { status: 302, headers: { ...typed, location: path } })

/** Swagger UI at /api/docs and the OpenAPI document at /api/docs/json. */
export function docs(config: Config) {
  const plugin = swagger({
    path,
    specPath: `${path}/json`,
    excludeStaticFile: false,
    exclude: [/^\/api\/docs/],
    documentation: description(config) as never,
  })
  const app = new Elysia({ detail: { hide: true } }).get('/', leadToPage).get('/api', leadToPage)
  for (const [name, type] of Object.entries(types)) {
    const send = fixed(() => contentOf(name), {
      'content-type': type,
      'content-security-policy': policy,
      'cache-control': 'public, max-age=3600',
    })
    app.get(path + name, ({ request }) => send(request))
  }
  const general = generalRefusals(config)
  let document: ReturnType<typeof fixed> | undefined
  return new Elysia()
    .use(
      new Elysia()
        .onAfterHandle(({ request, response }) => {
          // Built once: no route comes later.
          document ??= fixed(() => JSON.stringify(finished(response as OpenApiDocument, general)), {
            'content-type': 'application/json',
          })
          return document(request)
        })
        .use(plugin),
    )
    .use(app) // after the plugin: its own page at the same path loads a CDN, ours takes its place
}
