import { startFills } from '../../modules/search/indexing/positions.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { nilId } from '../../src/id-format.ts'

/** Reading a page takes about 15 ms. */
const pageRows = 5_000

/**
 * `next` compares the positions of the next projects with the versions, and passes projects with unindexed changes to
 * `add`. Creates missing positions, so that the first fill finds the projects.
 */
export function openSweep(sql: Sql, add: (projectId: string) => void, rows = pageRows) {
  let after = nilId
  async function next(): Promise<void> {
    const [page] = await sql<
      { count: number; last: string; behind: string | null; missing: string | null }[]
    >`
      with page as materialized (
        select project_id, version, last_event_id from streams
        where project_id > ${after} order by project_id limit ${rows}),
      behind as (
        select s.project_id, p.project_id is null as is_missing
        from page s left join search_positions p on p.project_id = s.project_id
        where (p.seq = s.version and p.event_id = s.last_event_id) is not true)
      select (select count(*) from page)::int4 as count, (select project_id from page order by 1 desc limit 1) as last,
        (select string_agg(project_id::text, ' ') from behind where not is_missing) as behind,
        (select string_agg(project_id::text, ' ') from behind where is_missing) as missing`
    const { count, last, behind, missing } = page!
    if (missing) await startFills(sql, missing.split(' '))
    for (const projectId of behind?.split(' ') ?? []) add(projectId)
    after = count === rows ? last : nilId
  }
  return { next, restart: () => void (after = nilId) }
}
