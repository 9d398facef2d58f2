import type { MigrationMeta } from 'drizzle-orm/migrator'
import { AdminError } from '../admin/command-group.ts'

// A backup is a gzipped SQL script with a COPY for each table. psql can run it in a database with the same migrations.

const first = '-- docket backup 1, migrations: '
export const last = '-- end of the docket backup'

export const firstLine = (hashes: string[]): string => first + hashes.join(' ')

export const hashesIn = (line = ''): string[] | undefined =>
  line.startsWith(first) ? line.slice(first.length).split(' ') : undefined

export function migrationsOf(hashes: string[], allMigrations: MigrationMeta[]): MigrationMeta[] | undefined {
  const applied = allMigrations.slice(0, hashes.length)
  const areSame = hashes.length > 0 && hashes.every((hash, n) => applied[n]?.hash === hash)
  return areSame ? applied : undefined
}

export const damaged = () => new AdminError('The backup is damaged or incomplete: nothing was restored')

/** Tables of the search index. A restored service fills these tables again. */
export const isDerived = (table: string): boolean => /^search(_|$)/.test(table)

export const tablesOf = (migrations: MigrationMeta[]): string[] =>
  migrations.flatMap(({ sql }) =>
    sql.flatMap((statement) => /^\s*create table "(\w+)"/i.exec(statement)?.[1] ?? []),
  )
