import type { ProjectRow } from '../../drizzle/schema.ts'
import { batched } from '../../src/core/batch.ts'
import type { Sql } from '../../src/core/database.ts'
import { inOrder } from '../../src/core/in-order.ts'
import type { Page } from '../../src/core/pages.ts'

/** Projects by id, many in one query. */
export function openProjects(sql: Sql) {
  return batched({ keys: 500, slots: 2 }, async (ids: string[]) => {
    const rows = await sql<ProjectRow[]>`select * from projects where id = any(${ids}::uuid[])`
    return inOrder(ids, rows, (row) => row.id)
  })
}

/** A page of the projects that a user owns or is a member of, oldest first; one row more than asked tells of a next page. */
export function projectsOf(sql: Sql, userId: string, { limit, cursor }: Page) {
  const after = cursor ?? '00000000-0000-0000-0000-000000000000'
  return sql<ProjectRow[]>`
    select * from (
      (select p.* from projects p where p.owner_id = ${userId} and p.id > ${after} order by p.id limit ${limit + 1})
      union all
      (select p.* from members m join projects p on p.id = m.project_id
        where m.user_id = ${userId} and m.project_id > ${after} order by m.project_id limit ${limit + 1})
    ) mine order by id limit ${limit + 1}`
}
