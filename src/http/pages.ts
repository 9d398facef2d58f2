import { type AnyElysia, Elysia } from 'elysia'
import { LRUCache } from 'lru-cache'
import { marked } from 'marked'
import { readdirSync, readFileSync } from 'node:fs'
import type { Config } from '../config.ts'
import { fillTemplate, guidesUrl } from '../openapi/document.ts'
import type { AddressBook, BasePaths } from '../proxies.ts'
import { findTag, gzipTag } from '../responses/if-match.ts'
import { acceptsGzip, baseHeaders, compressed, digestEtag } from '../responses/reply.ts'
import packageJson from '../../package.json' with { type: 'json' }

const types: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
}

/** The maximum number of base paths whose copies of a page stay in memory. */
const maxBasePaths = 16

/**
 * Returns a handler that responds from memory, or with 304. The first request calls `read`; each body is compressed once.
 * @param basePaths for a page with links: {basePath} and {serverUrl} in the page become the path of the request
 */
export function staticResponse(
  read: () => string,
  ownHeaders: Record<string, string>,
  basePaths?: BasePaths,
) {
  const vary = ['Accept-Encoding', ...(basePaths?.vary ?? [])].join(', ')
  const headers = { ...ownHeaders, ...baseHeaders, vary }
  const copies = new LRUCache<string, ReturnType<typeof copyOf>>({
    max: maxBasePaths,
    memoMethod: (basePath) =>
      copyOf(basePaths ? fillTemplate(read(), { basePath, serverUrl: basePath || '/' }) : read()),
  })
  return async ({ request, server }: { request: Request; server: AddressBook | null }) => {
    const { plain, etag, gzipped } = copies.memo(basePaths?.of(request, server) ?? '')
    const known = findTag(request.headers.get('if-none-match') ?? '', etag)
    if (known) return new Response(null, { status: 304, headers: { ...headers, etag: known } })
    if (!acceptsGzip(request)) return new Response(plain, { headers: { ...headers, etag } })
    const encoded = { etag: gzipTag(etag), 'content-encoding': 'gzip' }
    return new Response(await gzipped(), { headers: { ...headers, ...encoded } })
  }
}

function copyOf(plain: string) {
  let body: ReturnType<typeof compressed> | undefined
  return { plain, etag: digestEtag(plain), gzipped: () => (body ??= compressed(plain, 9)) }
}

/** Returns a function that adds a page or file to an app. The end of the file's name determines its type. */
const openAdd =
  (app: AnyElysia, basePaths: BasePaths, policy: string, caching: string) =>
  (path: string, name: string, read: () => string): void => {
    const own = {
      'content-type': types[name.split('.').at(-1)!]!,
      'content-security-policy': policy,
      'cache-control': caching,
      'referrer-policy': 'no-referrer',
    }
    const send = staticResponse(read, own, name.endsWith('.html') ? basePaths : undefined)
    app.get(path, ({ request, server }) => send({ request, server }))
  }

const textIn = (folder: string) => {
  const base = new URL(folder, import.meta.url)
  return (name: string): string => readFileSync(new URL(name, base), 'utf8')
}
const [ownText, guideText, boardText] = [
  textIn('./pages/'),
  textIn('../../docs/'),
  textIn('../../clients/board/'),
]
const namesIn = (folder: string) => readdirSync(new URL(folder, import.meta.url))
const fileOfPackage = (name: string): URL => new URL(import.meta.resolve(name))

export const docsPath = '/api/docs'

/** Allows scripts and styles of this host only. Swagger UI needs inline styles, and icons as data URLs. */
const docsPolicy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"

const ownAssets = ['page.css', 'page.js']
const swaggerAssets = ['swagger-ui.css', 'swagger-ui-bundle.js']

/** Serves the Swagger UI, the guides, and the board or else a page with links at the root. */
export function pages({ board: hasBoard }: Config, basePaths: BasePaths) {
  const app = new Elysia({ detail: { hide: true } })
  const add = openAdd(app, basePaths, docsPolicy, 'public, max-age=3600')
  const guides = namesIn('../../docs/').flatMap((name) => (name.endsWith('.md') ? name.slice(0, -3) : []))
  if (hasBoard) app.use(board(basePaths))
  else add('/', 'home.html', () => pageOf('Docket', homeText(guides)))
  add(docsPath, 'page.html', () => ownText('swagger.html'))
  for (const name of ownAssets) add(`${docsPath}/assets/${name}`, name, () => ownText(name))
  for (const name of swaggerAssets)
    add(`${docsPath}/assets/${name}`, name, () =>
      readFileSync(fileOfPackage(`swagger-ui-dist/${name}`), 'utf8'),
    )
  for (const name of guides) add(`${docsPath}/guides/${name}`, 'page.html', () => guidePage(name))
  return app
}

const linkTo = (path: string, text: string) => `<a href="${path}">${text.replaceAll('-', ' ')}</a>`
const docsLink = linkTo(`{basePath}${docsPath}`, 'API documentation')

const homeText = (guides: string[]): string => `<main class="home"><h1>Docket</h1>
<p>${packageJson.description} Version ${packageJson.version}</p>
<ul><li>${docsLink} (Swagger UI), ${linkTo(`{basePath}${docsPath}/json`, 'OpenAPI document')}</li>
<li>${linkTo('{basePath}/health/ready', 'Health')}</li>
<li>Guides: ${guides.map((name) => linkTo(`${guidesUrl}/${name}`, name)).join(', ')}</li></ul></main>`

/** Links to other pages of `docs` become relative URLs, and links to files that the service does not serve become text. */
function guidePage(name: string): string {
  const markdown = guideText(`${name}.md`)
    .replace(/\]\(([\w-]+)\.md(#[\w-]+)?\)/g, ']($1$2)')
    .replace(/!?\[([^\]]*)\]\(\.\.\/[^)]*\)/g, '$1')
  const text = marked.parse(markdown, { async: false }).replaceAll('<pre>', '<pre tabindex="0">')
  const content = `<nav>${linkTo('{basePath}/', 'Docket')} · ${docsLink}</nav><main>${text}</main>`
  return pageOf(`Docket: ${name.replaceAll('-', ' ')}`, content)
}

const pageOf = (title: string, content: string): string =>
  fillTemplate(ownText('layout.html'), { title, content })

const boardPath = '/board'
const boardPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The packages that the board imports, by the names of their files in `clients/board/lib`. None imports another file. */
const libraries = { 'lib/preact.js': 'preact', 'lib/htm.js': 'htm', 'lib/signals.js': '@preact/signals-core' }

/** Serves the board, and leads from the root to the board. Browsers check each file again, so a page never mixes two releases. */
function board(basePaths: BasePaths) {
  const app = new Elysia({ detail: { hide: true } })
  const add = openAdd(app, basePaths, boardPolicy, 'no-cache')
  const own = namesIn('../../clients/board/').filter((name) => /\.(js|css)$/.test(name))
  const scripts = [...own.filter((name) => name.endsWith('.js')), ...Object.keys(libraries)]
  // Without these links, a browser would find the files one after another.
  const preloads = scripts.map((name) => `<link rel="modulepreload" href="{basePath}${boardPath}/${name}" />`)
  add(boardPath, 'index.html', () =>
    fillTemplate(boardText('index.html'), { preloads: preloads.join('\n    ') }),
  )
  for (const name of own) add(`${boardPath}/${name}`, name, () => boardText(name))
  for (const [name, from] of Object.entries(libraries))
    add(`${boardPath}/${name}`, name, () => readFileSync(fileOfPackage(from), 'utf8'))
  return app.get('/', () => redirectTo(boardPath))
}

export const redirectTo = (location: string): Response =>
  new Response(null, { status: 302, headers: { ...baseHeaders, location } })
