import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { swagger } from '@elysiajs/swagger'
import { Elysia } from 'elysia'
import type { Config } from '../config.ts'
import { description } from '../openapi/description.ts'
import { finished, type OpenApiDocument } from '../openapi/document.ts'
import { typed } from '../wire/answers.ts'
import { type Fixed, fixed } from '../wire/fixed.ts'
import { urlCharacters } from '../wire/request-url.ts'
import { generalRefusals } from './general-refusals.ts'

const path = '/api/docs'
const assets = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
} as const

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

const shown = (read: Parameters<typeof fixed>[0], type: string) =>
  fixed(read, {
    'content-type': type,
    'content-security-policy': policy,
    'cache-control': 'public, max-age=3600',
  })

const links = { docs: path, openapi: `${path}/json`, live: '/health/live', ready: '/health/ready' }

/** Leads to the page from above it; the body has the links for a program that does not follow. */
const leadToPage = () =>
  new Response(JSON.stringify(links), { status: 302, headers: { ...typed, location: path } })

/** Swagger UI at /api/docs and the OpenAPI document at /api/docs/json. */
export function docs(config: Config) {
  const require = createRequire(import.meta.url)
  const asset = (name: string) => readFileSync(require.resolve(`swagger-ui-dist/${name}`))
  const plugin = swagger({
    path,
    specPath: `${path}/json`,
    excludeStaticFile: false,
    exclude: [/^\/api\/docs/],
    documentation: description(config, urlCharacters) as never,
  })

  const pages: Record<string, Fixed> = {
    [path]: shown(() => page, 'text/html; charset=utf-8'),
    [`${path}/assets/start.js`]: shown(() => startScript, assets['swagger-ui-bundle.js']),
  }
  for (const [name, type] of Object.entries(assets)) {
    pages[`${path}/assets/${name}`] = shown(() => asset(name), type)
  }
  const app = new Elysia({ detail: { hide: true } }).get('/', leadToPage).get('/api', leadToPage)
  for (const [at, send] of Object.entries(pages)) app.get(at, ({ request }) => send(request))
  const general = generalRefusals(config)
  let document: Fixed | undefined
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
