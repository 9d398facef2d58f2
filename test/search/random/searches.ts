import { expect } from 'bun:test'
import { allPages } from '../../http/list-pages.ts'
import type { Body, Client } from '../../support/client.ts'
import type { Hit } from '../scene.ts'
import type { Doc } from './corpus.ts'
import { expectedHits, expectedTasks } from './reference.ts'

const query = (parameters: Record<string, string | undefined>) =>
  new URLSearchParams(
    Object.entries(parameters).filter((one): one is [string, string] => one[1] !== undefined),
  )

/** Returns all hits of `GET /search`. @throws unless every page has the status 200 */
export async function search(client: Client, q: string, more: Record<string, string> = {}): Promise<Hit[]> {
  const pages = await allPages(client, `/search?${query({ q, limit: '200', ...more })}`)
  return pages.flat() as unknown as Hit[]
}

export const searchIds = async (client: Client, q: string, more = {}) =>
  (await search(client, q, more)).map(({ id }) => id)

/** Returns all tasks of `GET /tasks?q=`. */
export async function listTasks(
  client: Client,
  q: string,
  more: Record<string, string> = {},
): Promise<Body[]> {
  return (await allPages(client, `/tasks?${query({ q, limit: '200', ...more })}`)).flat()
}

/** Compares the hits of a search with the reference, and returns how many there are. `docs` are all rows that the caller may see. */
export async function expectHits(
  client: Client,
  docs: Doc[],
  q: string,
  more: { types?: string; projectId?: string } = {},
) {
  const { types, projectId } = more
  const inScope = docs.filter((doc) => !projectId || doc.projectId === projectId)
  const expected = expectedHits(inScope, q, types?.split(','))
  const found = await search(client, q, more)
  const exact = found.filter(({ fuzzy }) => !fuzzy)
  expect({ q, more, ids: exact.map(({ id }) => id) }).toEqual({ q, more, ids: expected.map(({ id }) => id) })
  if (expected.length > 0) expect(found.length).toBe(exact.length)
  const byId = new Map(inScope.map((doc) => [doc.id, doc]))
  for (const hit of found) expectShown(q, hit, byId)
  return expected.length
}

function expectShown(q: string, hit: Hit, byId: Map<string, Doc>): void {
  const doc = byId.get(hit.id)
  const { projectId, taskId = null } = doc ?? {}
  const title = (doc?.kind === 'comment' ? byId.get(taskId!) : doc)?.title
  expect({ q, ...hit }).toMatchObject({ q, type: doc?.kind, projectId, taskId, title } as object)
  const { text, matches } = hit.snippet
  let end = 0
  for (const [from, to] of matches) {
    expect([q, hit.snippet, end <= from && from < to && to <= text.length]).toEqual([q, hit.snippet, true])
    end = to
  }
}

export async function expectTasks(
  client: Client,
  docs: Doc[],
  q: string,
  projectId?: string,
): Promise<number> {
  const inScope = docs.filter((doc) => !projectId || doc.projectId === projectId)
  const found = await listTasks(client, q, projectId ? { projectId } : {})
  const expected = expectedTasks(inScope, q)
  expect({ q, ids: found.map(({ id }) => id) }).toEqual({ q, ids: expected })
  return expected.length
}
