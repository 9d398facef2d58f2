import type { Client } from '../../kit.ts'
import { type Hit, listTasks, search } from '../scene.ts'
import type { Doc } from './corpus.ts'
import { contains, type Query, readQuery, type Term } from './reference-query.ts'

/** The most hits that `GET /search` ranks. */
const maxRanked = 200

const has = ({ title, text }: Doc, term: Term): boolean => contains(title, term) || contains(text, term)
const hasNumber = ({ kind, number }: Doc, wanted: number) => kind === 'task' && number === wanted

/** True if `q` as a whole is the id or the external id of the row. */
const isNamed = ({ id, externalId, kind }: Doc, q: string): boolean =>
  (kind !== 'subtask' && id === q.trim().toLowerCase()) || (externalId != null && externalId === q.trim())

const matches = (doc: Doc, { terms, excluded, numbers }: Query): boolean =>
  terms.every((term) => has(doc, term)) &&
  numbers.every((number) => hasNumber(doc, number)) &&
  !excluded.some((term) => has(doc, term))

/** 0: all terms in the title, 1: some in the title, 2: comments, 3: others. Rows named by `q` come first. */
function rankOf(doc: Doc, q: string): number {
  if (isNamed(doc, q)) return -1
  if (doc.kind === 'comment') return 2
  const { terms, numbers } = readQuery(q)
  const inTitle = [
    ...terms.map((term) => contains(doc.title, term)),
    ...numbers.map((n) => hasNumber(doc, n)),
  ]
  if (inTitle.every(Boolean)) return 0
  return inTitle.some(Boolean) ? 1 : 3
}

const newestFirst = (a: Doc, b: Doc) => (a.at === b.at ? (a.id < b.id ? 1 : -1) : a.at < b.at ? 1 : -1)

/** Returns the hits of `GET /search` in their order, of the rows that the caller may see. */
function expectedHits(docs: Doc[], q: string, kinds = ['task', 'comment', 'project']): Doc[] {
  const query = readQuery(q)
  return docs
    .filter((doc) => kinds.includes(doc.kind) && (isNamed(doc, q) || matches(doc, query)))
    .sort(newestFirst)
    .slice(0, maxRanked)
    .map((doc) => ({ doc, rank: rankOf(doc, q) }))
    .sort((a, b) => a.rank - b.rank || newestFirst(a.doc, b.doc))
    .map(({ doc }) => doc)
}

/** Returns the ids of the tasks that `GET /tasks?q=` lists, in the order of ids. */
function expectedTasks(docs: Doc[], q: string): string[] {
  const { terms, excluded, numbers } = readQuery(q)
  const byTask = Map.groupBy(
    docs.filter(({ taskId }) => taskId !== null),
    ({ taskId }) => taskId!,
  )
  const found = [...byTask].filter(([, own]) => {
    const some = (term: Term) => own.some((doc) => has(doc, term))
    const isMatch = terms.every(some) && !excluded.some(some)
    const isNumbered = numbers.every((n) => own.some((doc) => hasNumber(doc, n)))
    return own.some((doc) => doc.kind === 'task' && isNamed(doc, q)) || (isMatch && isNumbered)
  })
  return found.map(([id]) => id).sort()
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
  const found = await listTasks(client, q, { projectId })
  const expected = expectedTasks(inScope, q)
  expect({ q, ids: found.map(({ id }) => id) }).toEqual({ q, ids: expected })
  return expected.length
}
