import { Redis } from 'ioredis'
import type { Sql } from '../../src/postgres/database.ts'
import { eventually } from '../races/pair.ts'
import { make, type Person } from '../support/client.ts'

export async function createFullProject(owner: Person, tasks: number) {
  const { id: projectId } = await make(owner, '/projects', { name: 'FullProject' })
  const taskIds: string[] = []
  const things = await Promise.all(
    Array.from({ length: tasks }, async (_, n) => {
      const { id } = await make(owner, '/tasks', { title: `Task ${n}`, projectId, assigneeId: owner.id })
      taskIds.push(id)
      return Promise.all([
        make(owner, `/tasks/${id}/subtasks`, { title: 'Sub' }),
        make(owner, `/tasks/${id}/comments`, { text: 'One' }),
        make(owner, `/tasks/${id}/comments`, { text: 'Two' }),
      ])
    }),
  )
  return { id: projectId, taskIds, ids: [projectId, ...taskIds, ...things.flat().map(({ id }) => id)] }
}

/** Omits tables without such rows, and `gone_projects`, which keeps the ids of purged projects. */
export async function rowsWith(sql: Sql, ids: string[]): Promise<Record<string, number>> {
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.tables where table_schema = 'public' and table_name <> 'gone_projects'`
  const found: Record<string, number> = {}
  for (const { name } of tables) {
    const [row] = await sql<{ n: number }[]>`
      select count(*)::int4 as n from ${sql(name)} t
      where exists (select from unnest(${ids}::text[]) id where strpos(to_jsonb(t)::text, id) > 0)`
    if (row?.n) found[name] = row.n
  }
  return found
}

/** As `rowsWith`, without the search index and the cursors of ready tasks, which workers change later. */
export async function rowsBesideSearch(sql: Sql, ids: string[]): Promise<Record<string, number>> {
  const rows = Object.entries(await rowsWith(sql, ids))
  return Object.fromEntries(rows.filter(([table]) => !/^(search(_|$)|ready_cursors$)/.test(table)))
}

export const outboxSize = async (sql: Sql): Promise<number> => (await sql`select 1 from outbox`).length

export const untilOutboxEmpty = (sql: Sql) =>
  eventually('an empty outbox', async () => (await outboxSize(sql)) === 0)

export async function flushRedis(url: string): Promise<void> {
  const client = new Redis(url)
  await client.flushall()
  client.disconnect()
}

/** Returns a function that returns how many rows each later statement has deleted from the table. */
export async function countDeletes(sql: Sql, table: string) {
  await sql`drop table if exists statements`
  await sql`create table statements (rows int)`
  await sql`create or replace function note() returns trigger language plpgsql as
    'begin insert into statements select count(*) from deleted; return null; end'`
  await sql`create trigger note after delete on ${sql(table)} referencing old table as deleted
    for each statement execute function note()`
  return async () =>
    (await sql<{ rows: number }[]>`select rows from statements where rows > 0`).map(({ rows }) => rows)
}
