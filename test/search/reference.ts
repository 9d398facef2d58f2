import type { Client, Sql } from '../kit.ts'
import { type Hit, listTasks, search } from './scene.ts'

export type Kind = 'task' | 'comment' | 'subtask' | 'project'

/** A row whose texts can be searched. */
export interface Doc {
  kind: Kind
  id: string
  projectId: string
  taskId: string | null
  at: string
  /** The title of a task or subtask, the name of a project; empty for a comment. */
  title: string
  /** The description, or the text of a comment. */
  text: string
  number?: number
  externalId?: string | null
  /** The users who may see the row. */
  readers: string[]
}

/** Reads every row that clients can see, from the tables that the log writes. */
export const readDocs = (sql: Sql): Promise<Doc[]> => sql<Doc[]>`
  with p as (select *, array(select user_id from members m where m.project_id = p.id) || owner_id as readers from projects p),
  t as (select t.*, readers from tasks t join p on p.id = t.project_id)
  select 'task' as kind, id, project_id, id as task_id, created_at as at, title, coalesce(description, '') as text, number,
    external_id, readers from t
  union all select 'project', id, id, null, created_at, name, coalesce(description, ''), null, null, readers from p
  union all select 'comment', c.id, project_id, task_id, c.created_at, '', text, null, null, readers
    from comments c join t on t.id = task_id
  union all select 'subtask', s.id, project_id, task_id, s.created_at, s.title, '', null, null, readers
    from subtasks s join t on t.id = task_id`

export const visibleTo = (docs: Doc[], userId: string) =>
  docs.filter(({ readers }) => readers.includes(userId))

/** Letters that have no decomposition in Unicode, but that readers write with plain letters. */
const plainLetters: Record<string, string> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ð: 'd', þ: 'th', ł: 'l', ı: 'i', ħ: 'h', ς: 'σ' },
}
/** Scripts that are written without spaces between words. */
const unspaced = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Thai}'
const wordOrRun = new RegExp(`[${unspaced}]+|(?:(?![${unspaced}])[\\p{L}\\p{N}])+`, 'gu')
const isUnspaced = new RegExp(`^[${unspaced}]`, 'u')
const known = new Map<string, string[]>()

/** Returns the words of a text, without case and accents. A run of an unspaced script is one word. */
function wordsOf(text: string): string[] {
  const plain = () => text.normalize('NFKD').toLowerCase().replace(/\p{M}/gu, '').normalize('NFC')
  const split = () =>
    plain()
      .replace(/[ßæœøđðþłıħς]/g, (one) => plainLetters[one]!)
      .match(wordOrRun) ?? []
  if (!known.has(text)) known.set(text, split())
  return known.get(text)!
}

/** Words that follow each other; a number of a task has the word `#42`. */
interface Term {
  words: string[]
  isPrefix: boolean
  isExcluded: boolean
}

/** Reads a query whose quotes are balanced and surrounded by spaces. */
function readQuery(q: string): Term[] {
  const tokens = q.trim().match(/-?"[^"]*"|\S+/g) ?? []
  return tokens.flatMap((token, i): Term[] => {
    const isExcluded = token.startsWith('-')
    const [, phrase] = /^-?"(.*)"$/.exec(token) ?? []
    if (/^#\d+$/.test(token)) return [{ words: [token], isPrefix: false, isExcluded }]
    const words = wordsOf(token)
    if (phrase !== undefined || isExcluded) return [{ words, isPrefix: false, isExcluded }]
    const isLast = (n: number) => i === tokens.length - 1 && n === words.length - 1
    return words.map((word, n) => ({ words: [word], isPrefix: isLast(n), isExcluded }))
  })
}

const isInTitle = ({ kind, title, number }: Doc, term: Term) =>
  contains(title, term) || (kind === 'task' && term.words[0] === `#${number}`)
const has = (doc: Doc, term: Term) => isInTitle(doc, term) || contains(doc.text, term)

function contains(text: string, { words, isPrefix }: Term): boolean {
  const own = wordsOf(text)
  // Inside a phrase, no character is between a word and its neighbour.
  const isPart = (one: string, word: string, i: number) =>
    one.includes(word) && (i === 0 || one.startsWith(word)) && (i === words.length - 1 || one.endsWith(word))
  const isAt = (start: number) =>
    words.every((word, i) => {
      const one = own[start + i] ?? ''
      if (isUnspaced.test(word)) return isPart(one, word, i)
      return isPrefix ? one.startsWith(word) : one === word
    })
  return own.some((_, start) => isAt(start))
}

/** True if `q` as a whole is the id or the external id of the row. */
const isNamed = ({ id, externalId, kind }: Doc, q: string): boolean =>
  (kind !== 'subtask' && id === q.trim().toLowerCase()) || (externalId != null && externalId === q.trim())

/** 0: rows named by `q`, 1: all terms in the title, 2: some in the title, 3: comments, 4: others. */
function rankOf(doc: Doc, q: string): number {
  if (isNamed(doc, q)) return 0
  if (doc.kind === 'comment') return 3
  const inTitle = readQuery(q).flatMap((term) => (term.isExcluded ? [] : [isInTitle(doc, term)]))
  return inTitle.every(Boolean) ? 1 : inTitle.some(Boolean) ? 2 : 4
}

/** The maximum number of hits that `GET /search` ranks. */
const maxRanked = 200
const newestFirst = (a: Doc, b: Doc) => (a.at + a.id < b.at + b.id ? 1 : -1)

function expectedHits(docs: Doc[], q: string, types: string): Doc[] {
  const terms = readQuery(q)
  return docs
    .filter((doc) => types.includes(doc.kind))
    .filter((doc) => isNamed(doc, q) || terms.every((term) => has(doc, term) !== term.isExcluded))
    .sort(newestFirst)
    .slice(0, maxRanked)
    .sort((a, b) => rankOf(a, q) - rankOf(b, q) || newestFirst(a, b))
}

/** Returns the ids of the tasks that `GET /tasks?q=` lists, in the order of ids. */
function expectedTasks(docs: Doc[], q: string): string[] {
  const terms = readQuery(q)
  const byTask = Map.groupBy(docs, ({ taskId }) => taskId)
  byTask.delete(null)
  const isFound = (own: Doc[]) =>
    own.some((doc) => doc.kind === 'task' && isNamed(doc, q)) ||
    terms.every((term) => own.some((doc) => has(doc, term)) !== term.isExcluded)
  return [...byTask].flatMap(([id, own]) => (isFound(own) ? id! : [])).sort()
}

/**
 * Compares the hits of `GET /search` and the list of `GET /tasks?q=` with the reference, and returns the number of hits.
 * @param docs all rows that the caller may see
 */
export async function expectFound(
  client: Client,
  docs: Doc[],
  q: string,
  { projectId, types = 'task,comment,project' }: { types?: string; projectId?: string | undefined } = {},
): Promise<number> {
  const inScope = docs.filter((doc) => !projectId || doc.projectId === projectId)
  const [hits, tasks] = [expectedHits(inScope, q, types), expectedTasks(inScope, q)]
  const found = await search(client, q, { projectId, types })
  const listed = (await listTasks(client, q, { projectId })).map(({ id }) => id)
  const isFuzzy = hits.length === 0
  const ids = isFuzzy ? [] : found.map(({ id }) => id)
  expect({ q, projectId, types, ids, listed }).toEqual({
    q,
    projectId,
    types,
    ids: hits.map(({ id }) => id),
    listed: tasks,
  })
  for (const hit of found) {
    expect(hit.fuzzy ?? false).toBe(isFuzzy)
    expectShown(hit, inScope)
  }
  return hits.length + tasks.length
}

function expectShown(hit: Hit, docs: Doc[]): void {
  const doc = docs.find(({ id }) => id === hit.id)!
  const { title } = doc.kind === 'comment' ? docs.find(({ id }) => id === doc.taskId)! : doc
  expect(hit).toMatchObject({ type: doc.kind, projectId: doc.projectId, taskId: doc.taskId, title } as object)
  const { text, matches } = hit.snippet
  const ends = [0, ...matches.map(([, end]) => end)]
  const isOrdered = matches.every(([from, to], n) => ends[n]! <= from && from < to && to <= text.length)
  expect([hit.snippet, isOrdered]).toEqual([hit.snippet, true])
}
