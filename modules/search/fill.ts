import type { FillCursor, NextDocuments, NextRows } from '../../drizzle/schema/search.ts'
import { nilId } from '../../src/id-format.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { readRows, rowsAtOnce, type Source, writeDocuments } from './documents.ts'

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
