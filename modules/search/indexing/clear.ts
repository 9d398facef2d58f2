import type { Sql } from '../../../src/postgres/database.ts'
import { firstRows } from './positions.ts'

const pageRows = 2_000

/** Deletes a page of the documents of a project that is filled again. After the last page the fill starts. */
export const clearPage = (sql: Sql, projectId: string) => sql`
  with locked as materialized (
    select project_id from search_positions where project_id = ${projectId} and fill ? 'clears' for update),
  found as materialized (select s.id from locked l join search s on s.project_id = l.project_id limit ${pageRows}),
  deleted as (delete from search where project_id = ${projectId} and id = any(array(select id from found)))
  update search_positions set fill = ${JSON.stringify(firstRows)}::text::jsonb
  where project_id in (select project_id from locked) and (select count(*) from found) < ${pageRows}`
