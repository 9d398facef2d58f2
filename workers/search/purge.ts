import type { Sql } from '../../src/postgres/database.ts'
import { type Throttle, whilePagesAreFull } from '../throttle.ts'

/** Without a position, a process that is indexing the deleted project writes no more documents. */
export async function purgeDocuments(sql: Sql, projectId: string, throttle: Throttle): Promise<void> {
  await sql`delete from search_positions where project_id = ${projectId}`
  await whilePagesAreFull(throttle, async () => {
    const { count } = await sql`
      delete from search where project_id = ${projectId} and id = any(array(
        select id from search where project_id = ${projectId} limit ${throttle.batchRows}))`
    return count
  })
}
