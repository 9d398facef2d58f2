import { inIterations } from '../../src/admission/own-iteration.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'
import { visibleProject } from '../../src/reads/visible.ts'
import { findMatching, findNamed, findSimilar, type FoundDocument } from './find.ts'
import { compareHits, compareTimes, type Hit, type HitKey, type SearchRequest } from './schema.ts'
import { readSnippet } from './text/snippet.ts'
import type { Scope } from './up-to-date.ts'

interface HitPage {
  hits: Hit[]
  /** The last document of the page, if there is a next page, and the newest of all documents found. */
  next?: HitKey[]
}

/** Returns one page of the hits, ranked. A page is shorter than `limit` if rows disappeared while the search ran. */
export async function readHits(
  sql: Sql,
  userId: string,
  scope: Scope,
  wanted: SearchRequest,
): Promise<HitPage> {
  const { after, limit, query } = wanted
  const [named, matching] = await Promise.all([
    findNamed(sql, scope.projectIds, wanted),
    query.terms.length > 0 ? findMatching(sql, scope, wanted) : [],
  ])
  const exact = [...new Map([...matching, ...named].map((one) => [one.id, one])).values()]
  const found = exact.length > 0 ? exact : await findSimilar(sql, scope, wanted)
  const ranked = found.toSorted(compareHits).filter((one) => !after || compareHits(one, after) > 0)
  const shown = ranked.slice(0, limit)
  const rows = await readLiveRows(sql, userId, scope, shown)
  const work = shown.flatMap((one) => (rows.has(one.id) ? [readHit(rows.get(one.id)!, one, wanted)] : []))
  const hits = await inIterations(work, userId)
  if (ranked.length <= limit) return { hits }
  return { hits, next: [shown.at(-1)!, wanted.newest ?? found.toSorted(compareTimes)[0]!] }
}

/** The fields that a hit shows of its row. `text` is the description or the comment. */
type LiveRow = Omit<Hit, 'snippet' | 'fuzzy'> & { text: string | null }

/** Reads the rows of documents, as far as they exist now and the user may see their projects now. */
async function readLiveRows(
  sql: Sql,
  userId: string,
  { projectIds }: Scope,
  found: FoundDocument[],
): Promise<Map<string, LiveRow>> {
  if (found.length === 0) return new Map()
  const ids = (kind: string) => sql`${found.filter((one) => one.kind === kind).map(({ id }) => id)}::uuid[]`
  // Without the offset, Postgres could read all tasks of a project to find the tasks of comments.
  const rows = await unprepared(sql<LiveRow[]>`
    select r.* from (
      select 'task' as type, t.id, t.project_id, t.id as task_id, t.title, t.description as text
        from tasks t where t.id = any(${ids('task')})
      union all select 'comment', c.id, t.project_id, t.id, t.title, c.text
        from comments c join tasks t on t.id = c.task_id where c.id = any(${ids('comment')})
      union all select 'project', p.id, p.id, null, p.name, p.description
        from projects p where p.id = any(${ids('project')}) offset 0) r
    cross join lateral ${visibleProject(sql, sql`r.project_id`, sql`${userId}`)} v
    where r.project_id = any(${projectIds}::uuid[])`)
  return new Map(rows.map((row) => [row.id, row]))
}

function* readHit(
  { text, ...row }: LiveRow,
  { similar }: FoundDocument,
  { query }: SearchRequest,
): Generator<undefined, Hit> {
  const terms = similar
    ? similar.map((word) => ({ lexemes: [word], isPrefix: false, isDense: false }))
    : query.terms
  const ofText = text !== null && !similar ? yield* readSnippet(text, terms) : undefined
  const snippet = ofText && ofText.matches.length > 0 ? ofText : yield* readSnippet(row.title, terms)
  return { ...row, snippet, ...(similar && { fuzzy: true as const }) }
}
