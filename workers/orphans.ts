import type { Sql } from '../src/postgres/database.ts'
import { newId } from '../src/ids.ts'
import type { JobName } from './reactions.ts'

/** Rows whose owner is gone, and the job that they need. */
export interface OrphanSearch {
  table: string
  key: string
  owner: string
  job: JobName
  names: 'projectId' | 'userId'
}

/** Streams of projects that are gone: what a restored backup brings back. */
const leftProjects = { owner: 'projects', job: 'purge-project', names: 'projectId' } as const
export const orphanStreams: OrphanSearch = { ...leftProjects, table: 'streams', key: 'project_id' }

// Accounts that are gone and still own or belong to something: a write let in just before may come after the job.
const leftAccounts = { owner: 'users', job: 'close-account', names: 'userId' } as const
export const orphanProjects: OrphanSearch = { ...leftAccounts, table: 'projects', key: 'owner_id' }
export const orphanMembers: OrphanSearch = { ...leftAccounts, table: 'members', key: 'user_id' }

/**
 * Searches the next `rows` rows in the order of the key, and owes the jobs that they need, unless such a job is owed already,
 * be it parked. Returns how many jobs it owed and the last key; undefined at the end.
 */
export async function queueOrphanJobs(sql: Sql, search: OrphanSearch, after: string, rows: number) {
  const key = sql(search.key)
  // Not by `not exists`: for that the planner reads the whole of the owners' table.
  const [page] = await sql<{ rows: number; last: string | null; left: string | null }[]>`
    with page as materialized (
      select ${key} as key from ${sql(search.table)} where ${key} > ${after} order by ${key} limit ${rows})
    select count(*)::int4 as rows, (select key from page order by key desc limit 1) as last,
      (select string_agg(distinct key::text, ' ') from page
        where (select id from ${sql(search.owner)} where id = key) is null) as left
    from page`
  const queued = page?.left ? await insertJobs(sql, search, page.left.split(' ')) : 0
  return { queued, last: page!.rows === rows ? page!.last! : undefined }
}

async function insertJobs(sql: Sql, { job, names }: OrphanSearch, keys: string[]): Promise<number> {
  const ids = keys.map(() => newId())
  const { count } = await sql`
    insert into outbox (id, project_id, name, data, created_at)
    select id, ${names === 'projectId' ? sql`key` : sql`null::uuid`}, ${job}, jsonb_build_object(${names}::text, key), now()
    from unnest(${ids}::uuid[], ${keys}::uuid[]) as wanted (id, key)
    where not exists (select from outbox o where o.name = ${job} and o.data->>${names}::text = key::text)`
  return count
}
