import type { AnyElysia } from 'elysia'
import { LRUCache } from 'lru-cache'
import { createHash } from 'node:crypto'
import { fillTemplate } from '../openapi/document.ts'
import type { AddressBook, BasePaths } from '../proxies.ts'
import { findTag, gzipTag } from '../responses/if-match.ts'
import { compressed, acceptsGzip } from '../responses/reply.ts'

const types = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  png: 'image/png',
}

const typeOf = (name: string): string => types[name.split('.').at(-1) as keyof typeof types]

type Content = string | Uint8Array<ArrayBuffer>

/** The maximum number of base paths whose copies of a page stay in memory. */
const maxBasePaths = 16

interface Copy {
  plain: Content
  etag: string
  gzipped?: ReturnType<typeof compressed>
}

/**
 * Returns a handler that responds from memory, or with 304. The first request calls `read`; each body is compressed once.
 * @param basePaths for a page with links: {basePath} and {serverUrl} in the page become the path of the request
 */
export function staticResponse(
  read: () => Content,
  ownHeaders: Record<string, string>,
  basePaths?: BasePaths,
) {
  const vary = ['Accept-Encoding', ...(basePaths?.vary ?? [])].join(', ')
  const headers = { ...ownHeaders, 'x-content-type-options': 'nosniff', vary }
  let content: Content | undefined
  const copies = new LRUCache<string, Copy>({
    max: maxBasePaths,
    memoMethod(basePath) {
      content ??= read()
      if (!basePaths || typeof content !== 'string') return copyOf(content)
      return copyOf(fillTemplate(content, { basePath, serverUrl: basePath || '/' }))
    },
  })
  return async ({ request, server }: { request: Request; server: AddressBook | null }) => {
    const copy = copies.memo(basePaths?.of(request, server) ?? '')
    const { plain, etag } = copy
    const known = findTag(request.headers.get('if-none-match') ?? '', (tag) => tag === etag)
    if (known) return new Response(null, { status: 304, headers: { ...headers, etag: known } })
    const body = acceptsGzip(request) ? await (copy.gzipped ??= compressed(plain, 9)) : plain
    if (body.length >= plain.length) return new Response(plain, { headers: { ...headers, etag } })
    return new Response(body, {
      headers: { ...headers, etag: gzipTag(etag), 'content-encoding': 'gzip' },
    })
  }
}

/**
 * Returns a function that adds a page or file to an app. The end of the file's name determines its type.
 * @param headers of all files
 */
export const openAddStatic =
  (app: AnyElysia, basePaths: BasePaths, headers: Record<string, string>) =>
  (path: string, name: string, read: () => Content): void => {
    const own = { 'content-type': typeOf(name), ...headers }
    const send = staticResponse(read, own, name.endsWith('.html') ? basePaths : undefined)
    app.get(path, ({ request, server }) => send({ request, server }))
  }

function copyOf(plain: Content): Copy {
  const digest = createHash('sha256').update(plain).digest('base64url')
  return { plain, etag: `"${digest.slice(0, 27)}"` }
}
