import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Elysia } from 'elysia'
import { marked } from 'marked'
import type { Config } from '../config.ts'
import { fillTemplate, guidesUrl } from '../openapi/document.ts'
import type { BasePaths } from '../proxies.ts'
import { board } from './board.ts'
import { openAddStatic } from './static-response.ts'
import packageJson from '../../package.json' with { type: 'json' }

export const docsPath = '/api/docs'
const guidesFolder = new URL('../../docs/', import.meta.url)

/** Allows scripts and styles of this host only. Swagger UI needs inline styles, and icons as data URLs. */
const policy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"

const ownAssets = ['page.css', 'page.js', 'home.js']
const swaggerAssets = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png']

export function pages({ metricsPort, board: hasBoard }: Config, basePaths: BasePaths) {
  const app = new Elysia({ detail: { hide: true } })
  const add = openAddStatic(app, basePaths, {
    'content-security-policy': policy,
    'cache-control': 'public, max-age=3600',
  })
  const guides = readdirSync(guidesFolder).flatMap((name) => (name.endsWith('.md') ? name.slice(0, -3) : []))
  if (hasBoard) app.use(board(basePaths))
  else add('/', 'home.html', () => homePage(metricsPort, guides))
  add(docsPath, 'page.html', () => ownPage('swagger.html'))
  for (const name of ownAssets) add(`${docsPath}/assets/${name}`, name, () => ownPage(name))
  for (const name of swaggerAssets) add(`${docsPath}/assets/${name}`, name, () => swaggerAsset(name))
  for (const name of guides) add(`${docsPath}/guides/${name}`, 'page.html', () => guidePage(name))
  return app
}

const ownPage = (name: string): string => readFileSync(new URL(`./pages/${name}`, import.meta.url), 'utf8')

const swaggerAsset = (name: string) =>
  readFileSync(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`))

function homePage(metricsPort: number, guides: string[]): string {
  const { description: summary, version } = packageJson
  const metrics = metricsPort ? `<code>GET /metrics</code> on port ${metricsPort}` : 'off (METRICS_PORT)'
  const links = guides.map((name) => `<a href="${guidesUrl}/${name}">${name.replaceAll('-', ' ')}</a>`)
  const content = fillTemplate(ownPage('home.html'), { summary, version, metrics, guides: links.join(', ') })
  return fillTemplate(ownPage('layout.html'), { title: 'Docket', content })
}

/** Links to other pages of `docs` become relative URLs, and links to files that the service does not serve become text. */
function guidePage(name: string): string {
  const markdown = readFileSync(new URL(`${name}.md`, guidesFolder), 'utf8')
  const linked = markdown
    .replace(/\]\(([\w-]+)\.md(#[\w-]+)?\)/g, ']($1$2)')
    .replace(/!?\[([^\]]*)\]\(\.\.\/[^)]*\)/g, '$1')
  const text = marked.parse(linked, { async: false }).replaceAll('<pre>', '<pre tabindex="0">')
  const content = `<nav><a href="{basePath}/">Docket</a> · <a href="{basePath}${docsPath}">API documentation</a></nav><main>${text}</main>`
  return fillTemplate(ownPage('layout.html'), { title: `Docket: ${name.replaceAll('-', ' ')}`, content })
}
