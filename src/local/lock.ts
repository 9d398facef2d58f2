import { Database } from 'bun:sqlite'

/** Locks a file between processes; a crash releases the lock. Returns undefined if another process has the lock. */
export function tryLock(path: string, mode: 'shared' | 'exclusive') {
  const database = new Database(path)
  try {
    database.run(mode === 'exclusive' ? 'begin exclusive' : 'begin')
    // SQLite acquires the shared lock at the first read.
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
