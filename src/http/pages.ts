import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Elysia } from 'elysia'
import { marked } from 'marked'
import type { Config } from '../config.ts'
import { fillTemplate, guidesPath } from '../openapi/description.ts'
import { compressed, acceptsGzip } from '../responses/reply.ts'
import packageJson from '../../package.json' with { type: 'json' }

export const docsPath = '/api/docs'
const guidesFolder = new URL('../../docs/', import.meta.url)
const types = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  png: 'image/png',
}

/** Allows scripts and styles of this host only. Swagger UI needs inline styles, and icons as data URLs. */
const policy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"

const ownAssets = ['page.css', 'page.js', 'ids.js', 'home.js']
const swaggerAssets = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png']

type Content = string | Uint8Array<ArrayBuffer>

/** Returns a handler that responds from memory. The first request calls `read`; the body is compressed once. */
export function staticResponse(read: () => Content, ownHeaders: Record<string, string>) {
  const headers = { ...ownHeaders, 'x-content-type-options': 'nosniff', vary: 'Accept-Encoding' }
  let plain: Content | undefined
  let gzipped: ReturnType<typeof compressed> | undefined
  return async (request: Request) => {
    plain ??= read()
    const body = acceptsGzip(request) ? await (gzipped ??= compressed(plain)) : plain
    if (body.length >= plain.length) return new Response(plain, { headers })
    return new Response(body, { headers: { ...headers, 'content-encoding': 'gzip' } })
  }
}

export function pages({ metricsPort }: Config) {
  const app = new Elysia({ detail: { hide: true } })
  const add = (path: string, type: string, read: () => Content) => {
    const send = staticResponse(read, {
      'content-type': type,
      'content-security-policy': policy,
      'cache-control': 'public, max-age=3600',
    })
    app.get(path, ({ request }) => send(request))
  }
  const guides = readdirSync(guidesFolder).flatMap((name) => (name.endsWith('.md') ? name.slice(0, -3) : []))
  add('/', types.html, () => homePage(metricsPort, guides))
  add(docsPath, types.html, () => ownPage('swagger.html'))
  for (const name of ownAssets) add(`${docsPath}/assets/${name}`, typeOf(name), () => ownPage(name))
  for (const name of swaggerAssets) add(`${docsPath}/assets/${name}`, typeOf(name), () => swaggerAsset(name))
  for (const name of guides) add(`${guidesPath}/${name}`, types.html, () => guidePage(name))
  return app
}

const typeOf = (name: string): string => types[name.split('.').at(-1) as keyof typeof types]

const ownPage = (name: string): string => readFileSync(new URL(`./pages/${name}`, import.meta.url), 'utf8')

const swaggerAsset = (name: string) =>
  readFileSync(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`))

function homePage(metricsPort: number, guides: string[]): string {
  const { description: summary, version } = packageJson
  const metrics = metricsPort ? `<code>GET /metrics</code> on port ${metricsPort}` : 'off (METRICS_PORT)'
  const links = guides.map((name) => `<a href="${guidesPath}/${name}">${name.replaceAll('-', ' ')}</a>`)
  const content = fillTemplate(ownPage('home.html'), { summary, version, metrics, guides: links.join(', ') })
  return fillTemplate(ownPage('layout.html'), { title: 'Docket', content })
}

/** Links to other pages of `docs` become paths of this service. */
function guidePage(name: string): string {
  const markdown = readFileSync(new URL(`${name}.md`, guidesFolder), 'utf8')
  const linked = markdown.replace(/\]\(([\w-]+)\.md(#[\w-]+)?\)/g, `](${guidesPath}/$1$2)`)
  const text = marked.parse(linked, { async: false }).replaceAll('<pre>', '<pre tabindex="0">')
  const content = `<nav><a href="/">Docket</a> · <a href="${docsPath}">API documentation</a></nav><main>${text}</main>`
  return fillTemplate(ownPage('layout.html'), { title: `Docket: ${name.replaceAll('-', ' ')}`, content })
}
