import type { MigrationMeta } from 'drizzle-orm/migrator'

/** The baseline is recorded as the last of the migrations that it replaces. Older databases have recorded all of them. */
export const baseline = {
  folderMillis: 1_795_459_896_342,
  hash: 'cac1b0cf6b9de2716d9fa8ce212d9265eb20b8fbc61d2b5d54ac16217a1f0d14',
}

export const withBaseline = ([first, ...later]: MigrationMeta[]): MigrationMeta[] => [
  { ...first!, ...baseline },
  ...later,
]

/** Thrown for a database that lacks some of the replaced migrations. */
export class OutdatedDatabase extends Error {
  constructor() {
    super(
      'The database of DATABASE_URL has the tables of an earlier release, which this release cannot migrate: run "npm run migrate" with the release of commit 240b63a2, then with this release',
    )
  }
}
