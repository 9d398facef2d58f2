import type { Body, Client } from '../support/client.ts'

const mostPages = 1_000

/** Follows the Link headers of a list from `path` to its end; gives the pages. */
export async function allPages(client: Client, path: string): Promise<Body[][]> {
  const pages: Body[][] = []
  for (let next: string | undefined = path; next;) {
    const { status, text, body, headers } = await client.get(next)
    if (status !== 200 || pages.length === mostPages)
      throw new Error(`GET ${next} answered ${status} ${text}`)
    pages.push([...body])
    next = nextPath(headers)
  }
  return pages
}

/** The path below /api/v1 that a Link header leads to. */
export function nextPath(headers: Headers): string | undefined {
  const link = headers.get('link')
  if (link === null) return undefined
  const [, path] = /^<\/api\/v1([^>]*)>; rel="next"$/.exec(link) ?? []
  if (!path) throw new Error(`not a Link to a next page: ${link}`)
  return path
}
