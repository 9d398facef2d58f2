import type { Sql } from '../src/postgres/database.ts'
import { newId } from '../src/ids.ts'
import type { JobName } from './reactions.ts'

/** Finds rows in `table` whose `key` is not the id of a row in `owner`. The job receives this id as `dataKey`. */
export interface OrphanSearch {
  table: string
  key: string
  owner: string
  job: JobName
  dataKey: 'projectId' | 'userId'
}

/** The restore of a backup may leave streams without a project. */
const projectOrphans = { owner: 'projects', job: 'purge-project', dataKey: 'projectId' } as const
export const orphanStreams: OrphanSearch = { ...projectOrphans, table: 'streams', key: 'project_id' }

// A write that was authorized before the deletion of an account may commit after the `close-account` job.
const accountOrphans = { owner: 'users', job: 'close-account', dataKey: 'userId' } as const
export const orphanProjects: OrphanSearch = { ...accountOrphans, table: 'projects', key: 'owner_id' }
export const orphanMembers: OrphanSearch = { ...accountOrphans, table: 'members', key: 'user_id' }

/** Inserts a job for each missing owner in the page, unless the outbox has such a job, even as a dead letter. */
export async function queueOrphanJobs(sql: Sql, search: OrphanSearch, after: string, rows: number) {
  const key = sql(search.key)
  // With `not exists`, Postgres would read the whole table of owners.
  const [page] = await sql<{ rows: number; last: string | null; orphans: string | null }[]>`
    with page as materialized (
      select ${key} as key from ${sql(search.table)} where ${key} > ${after} order by ${key} limit ${rows})
    select count(*)::int4 as rows, (select key from page order by key desc limit 1) as last,
      (select string_agg(distinct key::text, ' ') from page
        where (select id from ${sql(search.owner)} where id = key) is null) as orphans
    from page`
  const queued = page?.orphans ? await insertJobs(sql, search, page.orphans.split(' ')) : 0
  return { queued, last: page!.rows === rows ? page!.last! : undefined }
}

async function insertJobs(sql: Sql, { job, dataKey }: OrphanSearch, keys: string[]): Promise<number> {
  const ids = keys.map(() => newId())
  const { count } = await sql`
    insert into outbox (id, project_id, name, data, created_at)
    select id, ${dataKey === 'projectId' ? sql`key` : sql`null::uuid`}, ${job}, jsonb_build_object(${dataKey}::text, key), now()
    from unnest(${ids}::uuid[], ${keys}::uuid[]) as orphan (id, key)
    where not exists (select from outbox o where o.name = ${job} and o.data->>${dataKey}::text = key::text)`
  return count
}
