import { getTableName } from 'drizzle-orm'
import type { FillCursor } from '../../drizzle/schema/search.ts'
import { tasks } from '../../drizzle/schema/tasks.ts'
import { nilId } from '../../src/id-format.ts'
import { model } from '../../src/model/model.ts'
import { columnsOf } from '../../src/postgres/columns.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { searchedFields } from '../tasks/schema.ts'
import { documentOf, type DocumentText } from './text/document.ts'

/** The texts of a row after an event. Of a deleted row, `at` is null, and the document has no words. */
export interface Row extends DocumentText {
  kind: string
  id: string
  taskId: string | null
  projectId: string
  eventId: string
  at: string | null
}

/** The maximum number of rows that one query reads: their texts have at most 40 MB. */
const rowsAtOnce = 500

/**
 * Writes the documents of rows, unless the table has the document of a newer event. All processes lock the rows in the
 * order of ids. A project that is being deleted gets no more documents.
 */
export async function writeDocuments(sql: Sql, all: Row[]): Promise<void> {
  if (all.length > rowsAtOnce) await writeDocuments(sql, all.slice(rowsAtOnce))
  if (all.length === 0) return
  const rows = all.slice(0, rowsAtOnce)
  const documents = rows.map((row) => (row.at === null ? { doc: '', words: '' } : documentOf(row)))
  await sql`
    with live as materialized (
      select id from projects where id = any(${[...new Set(rows.map(({ projectId }) => projectId))]}::uuid[]) order by id for key share)
    insert into search_documents as d (id, project_id, kind, task_id, at, event_id, title, doc)
    select id, project_id, kind, nullif(task_id, ${nilId}), coalesce(nullif(at, '')::timestamptz, now()), event_id, nullif(title, ''),
      case when at <> '' then doc::tsvector end
    from unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ projectId }) => projectId)}::uuid[], ${rows.map(({ kind }) => kind)}::text[],
      ${rows.map(({ taskId }) => taskId ?? nilId)}::uuid[], ${rows.map(({ at }) => at ?? '')}::text[],
      ${rows.map(({ eventId }) => eventId)}::uuid[], ${documents.map(({ words }) => words)}::text[],
      ${documents.map(({ doc }) => doc)}::text[]) r(id, project_id, kind, task_id, at, event_id, title, doc)
    where project_id in (select id from live) order by id
    on conflict (id) do update set project_id = excluded.project_id, task_id = excluded.task_id, at = excluded.at,
      event_id = excluded.event_id, title = excluded.title, doc = excluded.doc where d.event_id < excluded.event_id`
}

/** Deletes documents of a project, and returns how many. */
export async function deleteDocuments(sql: Sql, projectId: string, limit: number): Promise<number> {
  const { count } = await sql`delete from search_documents where id = any(array(
    select id from search_documents where project_id = ${projectId} limit ${limit}))`
  return count
}

export const fillStart: FillCursor = { task: nilId, id: nilId, number: 0 }

/**
 * Continues the fill of a project: replaces the documents of its next rows, in the order of tasks and ids, also documents of
 * events that the log lost in a failover. A search finds either the old document of a row or the new one. Returns true if
 * more is left.
 */
export const fillNext = (sql: Sql, projectId: string): Promise<boolean> =>
  sql.begin(async (tx) => {
    const own = tx as unknown as Sql
    const [cursor] = await own<{ fill: FillCursor | null }[]>`
      select fill from search_cursors where project_id = ${projectId} for update`
    if (!cursor?.fill) return false
    const { task, number } = cursor.fill
    const page = await own<Pick<Row, 'id' | 'taskId' | 'number'>[]>`
      select id, task_id, number from (${nextRows(own, projectId, cursor.fill)}) r order by task_id, id`
    const last = page.at(-1)
    const next = page.length === rowsAtOnce && {
      ...{ task: last!.taskId, id: last!.id },
      number: page.reduce((most, row) => Math.max(most, row.number ?? 0), number),
    }
    const ids = page.map(({ id }) => id)
    if (task === nilId) ids.push(projectId)
    const locked = await own<{ id: string }[]>`
      select id from search_documents where id = any(${ids}::uuid[]) order by id for update`
    // The texts are read after the lock, because others may have written documents of newer events before it.
    const rows = await own<
      Row[]
    >`select * from (${nextRows(own, projectId, cursor.fill)}) r where id = any(${ids}::uuid[])`
    if (task === nilId) rows.push(...(await projectRow(own, projectId)))
    await own`delete from search_documents where id = any(${locked.map(({ id }) => id)}::uuid[])
      and id = any(${rows.map(({ id }) => id)}::uuid[])`
    await writeDocuments(own, rows)
    if (!next) await deleteLost(own, projectId)
    await own`update search_cursors set fill = ${next ? JSON.stringify(next) : null}::text::jsonb where project_id = ${projectId}`
    return next !== false
  }) as Promise<boolean>

/** Deletes documents of rows that do not exist. A task that left the project keeps its documents until its arrival is indexed. */
async function deleteLost(sql: Sql, projectId: string): Promise<void> {
  const kinds = [['task', tasks] as const, ...model().ofTask.map(({ name, table }) => [name, table] as const)]
  for (const [kind, table] of kinds)
    await sql`
      delete from search_documents d where project_id = ${projectId} and kind = ${kind} and doc is not null
        and not exists (select from ${sql(getTableName(table))} r where r.id = d.id)`
}

const projectRow = (sql: Sql, projectId: string) => sql<Row[]>`
  select 'project' as kind, id, null::uuid as task_id, id as project_id, event_id, created_at as at, null::int4 as number,
    name as title, description as text from projects where id = ${projectId}`

const searchedColumns = searchedFields.map((name) => `, t.${tasks[name].name}`)
/** SQL for the text of the task `t` besides its title. */
export const taskText =
  searchedColumns.length > 0 ? `concat_ws(e'\\n', t.description${searchedColumns.join('')})` : 't.description'

/** SQL for the next rows. In the order of the indexes, so that a page reads at most one page of the children of a task. */
function nextRows(sql: Sql, projectId: string, { task, id }: FillCursor): SqlPart {
  const children = model().ofTask.map(({ name, table, asChild }) => {
    const { name: text } = columnsOf(table).find(({ key }) => key === asChild!.text)!
    return sql`union all (
      select ${name}, c.id, greatest(c.event_id, t.event_id), c.created_at, null, null, c.${sql(text)} from ${sql(getTableName(table))} c
      where c.task_id = t.id and c.id > case when t.id = ${task} then ${id}::uuid else ${nilId} end
      order by c.id, c.created_at limit ${rowsAtOnce})`
  })
  return sql`
    select d.*, t.id as task_id, ${projectId}::uuid as project_id
    from (select * from tasks where project_id = ${projectId} and id >= ${task} order by id, number limit ${rowsAtOnce + 1}) t
    cross join lateral (
      select 'task' as kind, t.id, t.event_id, t.created_at as at, t.number, t.title, ${sql.unsafe(taskText)} as text
      ${children.reduce((all, one) => sql`${all} ${one}`)}) d
    where (t.id, d.id) > (${task}::uuid, ${id}::uuid) order by t.id, d.id limit ${rowsAtOnce}`
}
