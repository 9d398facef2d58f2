import type { MigrationMeta } from 'drizzle-orm/migrator'

// A backup is SQL, compressed by gzip: comments that say what it is of, and COPY with the rows of each table. So psql
// reads it too, into a database of the same migrations.

const first = '-- docket backup 1, migrations: '
export const last = '-- end of the docket backup'

/** The first line, which names the migrations of the database. */
export const firstLine = (hashes: string[]): string => first + hashes.join(' ')

/** The hashes of the migrations that a backup was made at; undefined when this is no backup. */
export const hashesIn = (line = ''): string[] | undefined =>
  line.startsWith(first) ? line.slice(first.length).split(' ') : undefined

/** The first of the known migrations, as many as were applied; undefined when others were. */
export function migrationsOf(hashes: string[], known: MigrationMeta[]): MigrationMeta[] | undefined {
  const applied = known.slice(0, hashes.length)
  const areSame = hashes.length > 0 && hashes.every((hash, n) => applied[n]?.hash === hash)
  return areSame ? applied : undefined
}

/** The tables that migrations make, in the order in which they make them. */
export const tablesOf = (migrations: MigrationMeta[]): string[] =>
  migrations.flatMap(({ sql }) =>
    sql.flatMap((statement) => /^\s*create table "(\w+)"/i.exec(statement)?.[1] ?? []),
  )
