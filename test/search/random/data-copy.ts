import type { Sql } from '../../../src/postgres/database.ts'

const tables = ['streams', 'projects', 'members', 'tasks', 'events', 'subtasks', 'comments']

/** Copies all rows that the log writes. The returned function restores them, like a backup without search. */
export async function copyData(sql: Sql): Promise<() => Promise<void>> {
  const copies: string[] = []
  for (const table of tables) {
    const [copy] = await sql<{ rows: string }[]>`
      select coalesce(jsonb_agg(to_jsonb(t)), '[]')::text as rows from ${sql(table)} t`
    copies.push(copy!.rows)
  }
  return async () => {
    await sql.begin(async (tx) => {
      for (const [i, table] of tables.entries()) {
        await tx`delete from ${tx(table)}`
        await tx`insert into ${tx(table)}
          select * from jsonb_populate_recordset(null::${tx(table)}, ${copies[i]!}::text::jsonb)`
      }
    })
  }
}
