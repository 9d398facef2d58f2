import { expect } from 'bun:test'
import type { SearchIndex } from '../../modules/search/indexing/index-projects.ts'
import { documentOf, kinds, type SourceRow } from '../../modules/search/indexing/rows.ts'
import type { Sql } from '../../src/postgres/database.ts'

type Indexed = Pick<SourceRow, 'projectId' | 'id' | 'kind' | 'taskId' | 'at'> & { doc: string }

/** Returns the rows of the table `search`. */
export const readIndex = (sql: Sql) => sql<Indexed[]>`
  select project_id, id, kind, task_id, at, doc::text as doc from search order by project_id, id`

/** Returns the rows that the table `search` must have for the current tasks, comments, subtasks and projects. */
export async function expectedIndex(sql: Sql): Promise<Indexed[]> {
  const rows = await sql<SourceRow[]>`
    select t.project_id, ${kinds.task}::int4 as kind, t.id, t.id as task_id, t.created_at as at, t.number, t.title, t.description as text
    from tasks t join projects p on p.id = t.project_id
    union all
    select t.project_id, ${kinds.comment}, c.id, t.id, c.created_at, null, c.text, null
    from comments c join tasks t on t.id = c.task_id join projects p on p.id = t.project_id
    union all
    select t.project_id, ${kinds.subtask}, s.id, t.id, s.created_at, null, s.title, null
    from subtasks s join tasks t on t.id = s.task_id join projects p on p.id = t.project_id
    union all
    select id, ${kinds.project}, id, null, created_at, null, name, description from projects
    order by project_id, id`
  return Promise.all(
    rows.map(async (row) => {
      const { projectId, id, kind, taskId, at } = row
      const [{ doc } = { doc: '' }] = await sql<{ doc: string }[]>`
        select ${documentOf(row)}::text::tsvector::text as doc`
      return { projectId, id, kind, taskId, at, doc }
    }),
  )
}

/** Brings projects up to date and compares the table `search` with their rows. */
export async function expectIndexed(sql: Sql, index: SearchIndex, projectIds: string[]): Promise<void> {
  expect(await index.bringUpToDate(projectIds)).toEqual({ indexed: 'all' })
  const isWanted = (row: { projectId: string }) => projectIds.includes(row.projectId)
  expect((await readIndex(sql)).filter(isWanted)).toEqual((await expectedIndex(sql)).filter(isWanted))
}
