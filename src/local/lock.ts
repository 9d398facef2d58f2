import { Database } from 'bun:sqlite'

/** A lock between processes. The operating system holds it, so a crash of its holder frees it. */
export interface FileLock {
  release(): void
}

/** Takes the lock at `path`, alone or beside other shared holders; undefined when it is not free now. */
export function tryLock(path: string, mode: 'shared' | 'exclusive'): FileLock | undefined {
  const database = new Database(path)
  try {
    database.run(mode === 'exclusive' ? 'begin exclusive' : 'begin')
    // SQLite takes the shared lock only at the first read.
    database.query('select count(*) from sqlite_master').get()
  } catch (error) {
    database.close()
    if (error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY') return undefined
    throw error
  }
  return {
    release: () => {
      database.run('rollback')
      database.close()
    },
  }
}
