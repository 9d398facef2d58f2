import type { Sql, SqlPart } from '../src/postgres/database.ts'
import { newId } from '../src/ids.ts'
import type { JobName } from './reactions.ts'

/** What nobody asked a job for: a look over a table in the order of its key, and the job that what it finds needs. */
export interface Search {
  /** The next keys after this one, in order. Keys may come twice. */
  keys(sql: Sql, after: string, rows: number): SqlPart
  /** Whether `key` is left behind. Not by `not exists`: for that the planner reads the whole of the other table. */
  isLeft(sql: Sql): SqlPart
  job: JobName
  /** What the job calls the key. */
  names: 'projectId' | 'userId'
}

/** Projects that are gone while their stream still stands: what a restored backup brings back. */
export const leftStreams: Search = {
  keys: (sql, after, rows) =>
    sql`select project_id as key from streams where project_id > ${after} order by project_id limit ${rows}`,
  isLeft: (sql) => sql`(select id from projects where id = key) is null`,
  job: 'purge-project',
  names: 'projectId',
}

/** Accounts that are gone and still own or belong to something: a write let in just before may come after the job. */
const leftAccounts = {
  isLeft: (sql: Sql) => sql`(select id from users where id = key) is null`,
  job: 'close-account',
  names: 'userId',
} as const

export const leftOwners: Search = {
  ...leftAccounts,
  keys: (sql, after, rows) =>
    sql`select owner_id as key from projects where owner_id > ${after} order by owner_id limit ${rows}`,
}

export const leftMembers: Search = {
  ...leftAccounts,
  keys: (sql, after, rows) =>
    sql`select user_id as key from members where user_id > ${after} order by user_id limit ${rows}`,
}

/**
 * Looks at the next `rows` keys and asks for the jobs they need. Not where that job is owed already, be it parked. Answers how
 * many jobs it asked for and where it stopped; undefined at the end.
 */
export async function lookAfter(sql: Sql, search: Search, after: string, rows: number) {
  const [page] = await sql<{ rows: number; last: string | null; left: string | null }[]>`
    with page as materialized (${search.keys(sql, after, rows)})
    select count(*)::int4 as rows, (select key from page order by key desc limit 1) as last,
      (select string_agg(distinct key::text, ' ') from page where ${search.isLeft(sql)}) as left
    from page`
  const asked = page?.left ? await ask(sql, search, page.left.split(' ')) : 0
  return { asked, last: page!.rows === rows ? page!.last! : undefined }
}

async function ask(sql: Sql, { job, names }: Search, keys: string[]): Promise<number> {
  const ids = keys.map(() => newId())
  const { count } = await sql`
    insert into outbox (id, project_id, name, data, created_at)
    select id, ${names === 'projectId' ? sql`key` : sql`null::uuid`}, ${job}, jsonb_build_object(${names}::text, key), now()
    from unnest(${ids}::uuid[], ${keys}::uuid[]) as wanted (id, key)
    where not exists (select from outbox o where o.name = ${job} and o.data->>${names}::text = key::text)`
  return count
}
