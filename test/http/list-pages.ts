import type { Body, Client } from '../support/client.ts'

const maxPages = 1_000

/** Follows the Link headers of a list from `path` to its end; returns the pages. */
export async function allPages(client: Client, path: string): Promise<Body[][]> {
  const pages: Body[][] = []
  for (let next: string | undefined = path; next;) {
    const { status, text, body, headers } = await client.get(next)
    if (status !== 200 || pages.length === maxPages) throw new Error(`GET ${next} answered ${status} ${text}`)
    pages.push([...body])
    next = nextPath(headers)
  }
  return pages
}

/** Returns the path of the next page, relative to /api/v1. */
export function nextPath(headers: Headers): string | undefined {
  const link = headers.get('link')
  if (link === null) return undefined
  const [, path] = /^<\/api\/v1([^>]*)>; rel="next"$/.exec(link) ?? []
  if (!path) throw new Error(`not a Link to a next page: ${link}`)
  return path
}
