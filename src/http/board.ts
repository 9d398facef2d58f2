import { readdirSync, readFileSync } from 'node:fs'
import { Elysia } from 'elysia'
import { fillTemplate } from '../openapi/document.ts'
import type { BasePaths } from '../proxies.ts'
import { baseHeaders } from '../responses/reply.ts'
import { openAddStatic } from './static-response.ts'

const path = '/board'
const folder = new URL('../../clients/board/', import.meta.url)
const page = 'index.html'

/** The packages that the board imports, by the names of their files in `clients/board/lib`. None imports another file. */
const libraries = { 'preact.js': 'preact', 'htm.js': 'htm', 'signals.js': '@preact/signals-core' }

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Serves the board, and leads from the root to the board. Browsers check each file again, so a page never mixes two releases. */
export function board(basePaths: BasePaths) {
  const app = new Elysia({ detail: { hide: true } })
  const add = openAddStatic(app, basePaths, {
    'content-security-policy': policy,
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  })
  const own = readdirSync(folder).filter((name) => /\.(js|css)$/.test(name))
  const scripts = [...own.filter((name) => name.endsWith('.js')), ...libraryNames]
  add(path, page, () => fillTemplate(readOwn(page), { preloads: scripts.map(preload).join('\n    ') }))
  for (const name of own) add(`${path}/${name}`, name, () => readOwn(name))
  for (const [name, from] of Object.entries(libraries))
    add(`${path}/lib/${name}`, name, () => readFileSync(new URL(import.meta.resolve(from)), 'utf8'))
  return app.get('/', () => new Response(null, { status: 302, headers: { ...baseHeaders, location: path } }))
}

const libraryNames = Object.keys(libraries).map((name) => `lib/${name}`)

/** Without these links, a browser would find the files one after another. */
const preload = (name: string) => `<link rel="modulepreload" href="{basePath}${path}/${name}" />`

const readOwn = (name: string): string => readFileSync(new URL(name, folder), 'utf8')
