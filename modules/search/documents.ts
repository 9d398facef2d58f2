import type { FillCursor, NextDocuments, NextRows } from '../../drizzle/schema/search.ts'
import { nilId } from '../../src/id-format.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { documentOf, type DocumentText } from './text/document.ts'

export type Kind = 'task' | 'comment' | 'subtask' | 'project'

/** A row to index. If it no longer exists, its document records the project and the event. */
export interface Source {
  kind: Kind
  id: string
  taskId: string | null
  projectId: string
  eventId: string
}

interface Row extends Source, DocumentText {
  at: string | null
}

/** So many rows have at most 40 MB of texts. */
const rowsAtOnce = 500

/**
 * Writes the documents of rows as they are now, unless the table has the document of a newer event. An event that moves or
 * deletes a task counts for the comments and subtasks of the task too.
 */
export async function indexRows(sql: Sql, sources: Source[]): Promise<void> {
  for (let n = 0; n < sources.length; n += rowsAtOnce)
    await writeDocuments(sql, await readRows(sql, sources.slice(n, n + rowsAtOnce)))
}

/** Returns the present rows. `at` is null if a row does not exist. */
const readRows = (sql: Sql, sources: Source[]): Promise<Row[]> => sql<Row[]>`
  select g.kind, g.id, coalesce(r.task_id, nullif(g.task_id, ${nilId})) as task_id, coalesce(r.project_id, g.project_id) as project_id,
    coalesce(r.event_id, g.event_id) as event_id, r.at, r.number, r.title, r.text
  from unnest(${arraysOf(sql, sources)}) g(kind, id, task_id, project_id, event_id) left join lateral (
    select t.id as task_id, t.project_id, t.event_id, t.created_at as at, t.number, t.title, t.description as text
      from tasks t where g.kind = 'task' and t.id = g.id
    union all select t.id, t.project_id, greatest(c.event_id, t.event_id), c.created_at, null, null, c.text
      from comments c join tasks t on t.id = c.task_id where g.kind = 'comment' and c.id = g.id
    union all select t.id, t.project_id, greatest(s.event_id, t.event_id), s.created_at, null, null, s.title
      from subtasks s join tasks t on t.id = s.task_id where g.kind = 'subtask' and s.id = g.id
    union all select null, p.id, p.event_id, p.created_at, null, p.name, p.description
      from projects p where g.kind = 'project' and p.id = g.id) r on true`

const arraysOf = (sql: Sql, all: Source[]) => sql`
  ${all.map(({ kind }) => kind)}::text[], ${all.map(({ id }) => id)}::uuid[], ${all.map(({ taskId }) => taskId ?? nilId)}::uuid[],
  ${all.map(({ projectId }) => projectId)}::uuid[], ${all.map(({ eventId }) => eventId)}::uuid[]`

/** All processes lock the rows in the order of ids. A project that is being deleted gets no more documents. */
async function writeDocuments(sql: Sql, rows: Row[]): Promise<void> {
  if (rows.length === 0) return
  const documents = rows.map((row) => (row.at === null ? { doc: '', words: '' } : documentOf(row)))
  await sql`
    with live as materialized (
      select id from projects where id = any(${[...new Set(rows.map(({ projectId }) => projectId))]}::uuid[]) order by id for key share)
    insert into search_documents as d (id, project_id, kind, task_id, at, event_id, title, doc)
    select id, project_id, kind, nullif(task_id, ${nilId}), coalesce(nullif(at, '')::timestamptz, now()), event_id, nullif(title, ''),
      case when at <> '' then doc::tsvector end
    from unnest(${arraysOf(sql, rows)}, ${rows.map(({ at }) => at ?? '')}::text[], ${documents.map(({ words }) => words)}::text[],
      ${documents.map(({ doc }) => doc)}::text[])
      r(kind, id, task_id, project_id, event_id, at, title, doc)
    where project_id in (select id from live) order by id
    on conflict (id) do update set project_id = excluded.project_id, task_id = excluded.task_id, at = excluded.at,
      event_id = excluded.event_id, title = excluded.title, doc = excluded.doc where d.event_id < excluded.event_id`
}

/**
 * Fills the next part of a project: first replaces the documents that it has, then adds its rows, in the order of tasks and ids.
 * Replaces documents of newer events too: after a restore, the log may lack these events. As this is one transaction, a search
 * finds either the old document of a row or the new one. Returns true if more is left.
 */
export const fillNext = (sql: Sql, projectId: string): Promise<boolean> =>
  sql.begin(async (tx) => {
    const own = tx as unknown as Sql
    const [cursor] = await own<{ fill: FillCursor | null }[]>`
      select fill from search_cursors where project_id = ${projectId} for update`
    if (!cursor?.fill) return false
    const [sources, next] = await (isOfRows(cursor.fill)
      ? nextRows(own, projectId, cursor.fill)
      : nextDocuments(own, projectId, cursor.fill))
    await own`delete from search_documents where id = any(array(
      select id from search_documents where id = any(${sources.map(({ id }) => id)}::uuid[]) order by id for update))`
    await writeDocuments(
      own,
      (await readRows(own, sources)).filter(({ at }) => at !== null),
    )
    await own`update search_cursors set fill = ${next && JSON.stringify(next)}::text::jsonb where project_id = ${projectId}`
    return next !== null
  }) as Promise<boolean>

const isOfRows = (fill: FillCursor): fill is NextRows => 'task' in fill

async function nextDocuments(sql: Sql, projectId: string, { at, id }: NextDocuments): Promise<Next> {
  const page = await sql<(Source & { at: string })[]>`
    select kind, id, task_id, project_id, event_id, at from search_documents
    where project_id = ${projectId} and (at, id) > (${at}::text::timestamptz, ${id}::uuid) order by at, id limit ${rowsAtOnce}`
  const last = page.at(-1)
  return [page, last ? { at: last.at, id: last.id } : { task: nilId, id: nilId, number: 0 }]
}

/** In the order of the indexes, so that a page reads at most one page of the children of a task. */
async function nextRows(sql: Sql, projectId: string, { task, id, number }: NextRows): Promise<Next> {
  const children = (kind: string, table: string) => sql`
    (select ${kind}, c.id from ${sql(table)} c where c.task_id = t.id and c.id > case when t.id = ${task} then ${id}::uuid else ${nilId} end
      order by c.id, c.created_at limit ${rowsAtOnce})`
  const page = await sql<(Source & { number: number })[]>`
    select d.kind, d.id, t.id as task_id, ${projectId}::uuid as project_id, ${nilId}::uuid as event_id, t.number from (
      select id, number from tasks where project_id = ${projectId} and id >= ${task} order by id, number limit ${rowsAtOnce + 1}) t
    cross join lateral (
      select 'task' as kind, t.id union all ${children('comment', 'comments')} union all ${children('subtask', 'subtasks')}) d
    where (t.id, d.id) > (${task}::uuid, ${id}::uuid) order by t.id, d.id limit ${rowsAtOnce}`
  const last = page.at(-1)
  const project = { kind: 'project', id: projectId, taskId: null, projectId, eventId: nilId } as const
  const next =
    page.length < rowsAtOnce
      ? null
      : { task: last!.taskId!, id: last!.id, number: Math.max(number, last!.number) }
  return [task === nilId ? [project, ...page] : page, next]
}

type Next = [sources: Source[], next: FillCursor | null]
