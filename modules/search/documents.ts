import { nilId } from '../../src/id-format.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { documentOf, type DocumentText, titleWords } from './text/document.ts'

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
export const rowsAtOnce = 500

/**
 * Writes the documents of rows as they are now, unless the table has the document of a newer event. The event of a move
 * counts for the comments and subtasks of the task too.
 */
export async function indexRows(sql: Sql, sources: Source[]): Promise<void> {
  for (let n = 0; n < sources.length; n += rowsAtOnce)
    await writeDocuments(sql, await readRows(sql, sources.slice(n, n + rowsAtOnce)))
}

/** Returns the present rows. `at` is null if a row does not exist. */
export const readRows = (sql: Sql, sources: Source[]): Promise<Row[]> => sql<Row[]>`
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
export async function writeDocuments(sql: Sql, rows: Row[]): Promise<void> {
  if (rows.length === 0) return
  const docs = rows.map((row) => (row.at === null ? '' : documentOf(row)))
  const titles = rows.map(({ title }) => (title === null ? '' : titleWords(title)))
  await sql`
    with live as materialized (
      select id from projects where id = any(${[...new Set(rows.map(({ projectId }) => projectId))]}::uuid[]) order by id for key share)
    insert into search_documents as d (id, project_id, kind, task_id, at, event_id, title, doc)
    select id, project_id, kind, nullif(task_id, ${nilId}), coalesce(nullif(at, '')::timestamptz, now()), event_id, nullif(title, ''),
      case when at <> '' then doc::tsvector end
    from unnest(${arraysOf(sql, rows)}, ${rows.map(({ at }) => at ?? '')}::text[], ${titles}::text[], ${docs}::text[])
      r(kind, id, task_id, project_id, event_id, at, title, doc)
    where project_id in (select id from live) order by id
    on conflict (id) do update set project_id = excluded.project_id, task_id = excluded.task_id, at = excluded.at,
      event_id = excluded.event_id, title = excluded.title, doc = excluded.doc where d.event_id < excluded.event_id`
}

/** Removes the documents of the comments and subtasks of deleted tasks. Keeps those that a later event restored. */
export async function removeChildren(sql: Sql, deletions: Pick<Source, 'id' | 'eventId'>[]): Promise<void> {
  for (let count = rowsAtOnce; count === rowsAtOnce && deletions.length > 0;)
    ({ count } = await sql`
      with found as materialized (
        select d.id, t.event_id from unnest(${deletions.map(({ id }) => id)}::uuid[], ${deletions.map(({ eventId }) => eventId)}::uuid[])
          t(id, event_id) join search_documents d on d.task_id = t.id and d.id <> t.id and d.event_id < t.event_id
        order by d.id limit ${rowsAtOnce} for update of d)
      update search_documents d set doc = null, title = null, at = now(), event_id = f.event_id from found f where d.id = f.id`)
}
