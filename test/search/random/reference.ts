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
export function expectedHits(docs: Doc[], q: string, kinds = ['task', 'comment', 'project']): Doc[] {
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
export function expectedTasks(docs: Doc[], q: string): string[] {
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
