import { untilPageFull } from '../../../src/reads/pages.ts'
import { nilId } from '../../../src/id-format.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import type { Changes } from './changes.ts'
import type { FillCursor } from '../../../drizzle/schema/search.ts'
import type { Position } from './positions.ts'
import {
  kinds,
  maxBytesOfProject,
  noSource,
  type RowOrHead,
  sourceColumns,
  type SourceRow,
  withRows,
} from './rows.ts'

/** The most rows of the pages of one statement. */
export const maxRows = 500
const minRowsOfProject = 10

/** The most rows and bytes of a project. */
interface Limits {
  rows: number
  bytes: number
}

interface Head extends Position {
  fill: FillCursor
  exists: boolean
}

/** Reads the next rows of projects whose first fill is not complete, in the order of tasks and ids. */
export async function readPages(sql: Sql, projectIds: string[], most = maxRows): Promise<Changes[]> {
  const limits = {
    rows: Math.min(most, Math.max(minRowsOfProject, Math.floor(most / projectIds.length))),
    bytes: maxBytesOfProject(projectIds),
  }
  const rows = await sql<RowOrHead<Head>[]>`
    with position as materialized (
      select p.project_id, p.seq, p.event_id, p.fill, pr.id is not null as exists,
        (p.fill ->> 'task')::uuid as task, (p.fill ->> 'id')::uuid as row
      from search_positions p left join projects pr on pr.id = p.project_id
      where p.project_id = any(${projectIds}::uuid[]) and p.fill is not null)
    select p.project_id, ${kinds.project}::int4 as kind, pr.id, null::uuid as task_id, pr.created_at as at,
      null::int4 as number, pr.name as title, pr.description as text, null::jsonb as head
    from position p join projects pr on pr.id = p.project_id where p.task = ${nilId}
    union all
    select ${sourceColumns(sql)}, null
    from position p cross join lateral (${untilPageFull(sql, page(sql, limits.rows), textBytes(sql), limits.bytes)}) d where p.exists and p.task is not null
    union all
    select ${noSource(sql)}, jsonb_build_object('projectId', p.project_id, 'seq', p.seq, 'eventId', p.event_id,
      'fill', p.fill, 'exists', p.exists)
    from position p`
  return withRows(rows, (head, own) => nextOf(head, own, limits))
}

const page = (sql: Sql, rowLimit: number) => sql`
  select t.project_id, d.*, t.number from (
    select project_id, id, number, created_at, title, description from tasks t
    where t.project_id = p.project_id and t.id >= p.task order by t.id, t.number limit ${rowLimit + 1}) t
  cross join lateral (
    select ${kinds.task}::int4 as kind, t.id, t.id as task_id, t.created_at as at, t.title, t.description as text
    union all
    (${children(sql, 'comments', kinds.comment, 'text')} limit ${rowLimit})
    union all
    (${children(sql, 'subtasks', kinds.subtask, 'title')} limit ${rowLimit})) d
  where (d.task_id, d.id) > (p.task, p.row)
  order by t.id, d.id limit ${rowLimit}`

const textBytes = (sql: Sql) => sql`octet_length(title) + coalesce(octet_length(text), 0)`

const bytesOf = ({ title, text }: SourceRow) => Buffer.byteLength(title ?? '') + Buffer.byteLength(text ?? '')

/** In the order of the index, so that a page reads at most one page of the children of a task. */
const children = (sql: Sql, table: string, kind: number, column: string) => sql`
  select ${kind}::int4, c.id, c.task_id, c.created_at, c.${sql(column)}, null from ${sql(table)} c
  where c.task_id = t.id and c.id > case when t.id = p.task then p.row else ${nilId} end order by c.id, c.created_at`

function nextOf(head: Head, rows: SourceRow[], limits: Limits): Omit<Changes, 'rows'> {
  const { projectId, seq, eventId, fill, exists } = head
  const ofTasks = rows.filter(({ taskId }) => taskId !== null)
  const bytes = ofTasks.reduce((sum, row) => sum + bytesOf(row), 0)
  const hasMore = 'clears' in fill || ofTasks.length === limits.rows || bytes >= limits.bytes
  const next = { seq, eventId, fill: hasMore ? cursorAfter(fill, ofTasks) : null }
  return { position: { projectId, seq, eventId, fill }, next, exists, hasMore }
}

function cursorAfter(fill: FillCursor, rows: SourceRow[]): FillCursor {
  const last = rows.at(-1)
  if (!last || 'clears' in fill) return fill
  const number = rows.reduce((most, row) => Math.max(most, row.number ?? 0), fill.number)
  return { task: last.taskId!, id: last.id, number }
}
