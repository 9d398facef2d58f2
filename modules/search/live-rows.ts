import { unprepared } from '../../src/postgres/timeouts.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { visibleProject } from '../../src/reads/visible.ts'
import { type FoundDocument, type Kind } from './documents.ts'
import { kinds } from './indexing/rows.ts'
import type { HitType } from './schema.ts'

/** The fields that a hit shows of its task, comment or project. `text` is the description or the comment. */
export interface LiveRow {
  type: HitType
  id: string
  projectId: string
  taskId: string | null
  title: string
  text: string | null
}

export interface Scope {
  userId: string
  projectIds: string[]
}

/** Reads the rows of documents, as far as they exist now and the user may see their projects now. */
export async function readLiveRows(
  sql: Sql,
  { userId, projectIds }: Scope,
  found: Pick<FoundDocument, 'id' | 'kind'>[],
): Promise<Map<string, LiveRow>> {
  if (found.length === 0) return new Map()
  const ids = (kind: Kind) => sql`${found.filter((one) => one.kind === kind).map(({ id }) => id)}::uuid[]`
  // Without the offset, Postgres could read all tasks of a project to find the tasks of comments.
  const rows = await unprepared(sql<LiveRow[]>`
    select r.* from (
      select 'task' as type, t.id, t.project_id, t.id as task_id, t.title, t.description as text
        from tasks t where t.id = any(${ids(kinds.task)})
      union all select 'comment', c.id, t.project_id, t.id, t.title, c.text
        from comments c join tasks t on t.id = c.task_id where c.id = any(${ids(kinds.comment)})
      union all select 'project', p.id, p.id, null, p.name, p.description
        from projects p where p.id = any(${ids(kinds.project)}) offset 0) r
    cross join lateral ${visibleProject(sql, sql`r.project_id`, sql`${userId}`)} v
    where r.project_id = any(${projectIds}::uuid[])`)
  return new Map(rows.map((row) => [row.id, row]))
}
