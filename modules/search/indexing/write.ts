import type { Sql } from '../../../src/postgres/database.ts'
import { titleWords } from '../text/document.ts'
import type { Changes } from './changes.ts'
import { documentsOf, kinds, type SourceRow } from './rows.ts'
import type { RecentWords } from './recent-words.ts'

/** The slots of `search_unmerged`. */
const slots = 16

/**
 * Writes the documents of projects, and moves their positions, in one statement. Nothing is written for a project whose
 * position has changed since its rows were read; with `all`, then nothing is written at all. Returns the ids of the
 * written projects.
 */
export async function writeChanges(
  sql: Sql,
  all: Changes[],
  recentWords: RecentWords,
  which: 'each' | 'all' = 'each',
): Promise<Set<string>> {
  if (all.length === 0) return new Set()
  const rows = all.flatMap((one) => one.rows)
  const present = rows.filter(({ title }) => title !== null)
  const documents = await documentsOf(present)
  await recentWords.insert(sql, titleWordsOf(present))
  const [row] = await sql<{ moved: string | null }[]>`
    with given as materialized (${positions(sql, all)}),
    current as materialized (
      select p.project_id from search_positions p join given g on p.project_id = g.project_id
      where p.seq = g.seq and p.event_id = g.event_id and p.fill is not distinct from nullif(g.fill, 'null')
      order by p.project_id for update of p),
    locked as materialized (
      select project_id from current
      where ${which === 'each'} or (select count(*) from current) = ${all.length}::int4),
    moved as (
      update search_positions p set seq = next_seq, event_id = next_event_id, fill = nullif(next_fill, 'null')
      from given g where p.project_id = g.project_id and p.project_id in (select project_id from locked)),
    upserted as (
      insert into search (project_id, id, kind, task_id, at, doc)
      select project_id, id, kind, task_id, at, coalesce(doc, '')::tsvector from (${columns(sql, present, documents)}) d
      where (project_id in (select project_id from locked)) is true
      on conflict (project_id, id) do update set doc = excluded.doc where search.doc <> excluded.doc returning id),
    removed as materialized (
      select * from (${removals(sql, rows)}) r where (project_id in (select project_id from locked)) is true),
    deleted as (delete from search s using removed r where s.project_id = r.project_id and s.id = r.id and not is_task),
    deleted_tasks as (
      delete from search s using removed r where s.project_id = r.project_id and s.task_id = r.id and is_task),
    counted as (
      insert into search_unmerged as u (slot, rows)
      select ${Math.floor(Math.random() * slots)}::int2, count(*) from upserted having count(*) > 0
      on conflict (slot) do update set rows = u.rows + excluded.rows)
    select string_agg(project_id::text, ' ') as moved from locked`
  return new Set(row!.moved?.split(' '))
}

const positions = (sql: Sql, all: Changes[]) => sql`
  select unnest(${list(all.map(({ position }) => position.projectId))}::text::uuid[]) as project_id,
    unnest(${list(all.map(({ position }) => position.seq))}::text::bigint[]) as seq,
    unnest(${list(all.map(({ position }) => position.eventId))}::text::uuid[]) as event_id,
    unnest(string_to_array(${lines(all.map(({ position }) => JSON.stringify(position.fill)))}, e'\n'))::jsonb as fill,
    unnest(${list(all.map(({ next }) => next.seq))}::text::bigint[]) as next_seq,
    unnest(${list(all.map(({ next }) => next.eventId))}::text::uuid[]) as next_event_id,
    unnest(string_to_array(${lines(all.map(({ next }) => JSON.stringify(next.fill)))}, e'\n'))::jsonb as next_fill`

const columns = (sql: Sql, present: SourceRow[], documents: string[]) => sql`
  select unnest(${list(present.map(({ projectId }) => projectId))}::text::uuid[]) as project_id,
      unnest(${list(present.map(({ id }) => id))}::text::uuid[]) as id,
      unnest(${list(present.map(({ kind }) => kind))}::text::int2[]) as kind,
      unnest(${list(present.map(({ taskId }) => taskId))}::text::uuid[]) as task_id,
      unnest(${list(present.map(({ at }) => at))}::text::timestamptz[]) as at,
      unnest(string_to_array(${lines(documents)}, e'\n')) as doc`

function removals(sql: Sql, rows: SourceRow[]) {
  const missing = rows.filter(({ title }) => title === null)
  return sql`
    select unnest(${list(missing.map(({ projectId }) => projectId))}::text::uuid[]) as project_id,
      unnest(${list(missing.map(({ id }) => id))}::text::uuid[]) as id,
      unnest(${list(missing.map(({ kind }) => kind === kinds.task))}::text::boolean[]) as is_task`
}

/** One text for a column costs less than one value for a row. */
const list = (values: (string | number | boolean | null)[]): string =>
  `{${values.map((value) => value ?? 'null').join()}}`
const lines = (values: string[]): string => values.join('\n')

const titleWordsOf = (rows: SourceRow[]): Set<string> =>
  new Set(
    rows.flatMap(({ kind, title }) =>
      title !== null && (kind === kinds.task || kind === kinds.project) ? titleWords(title) : [],
    ),
  )
