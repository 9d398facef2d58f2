import { Database } from 'bun:sqlite'

/** A lock between processes. A crash of its holder frees it. */
export interface FileLock {
  release(): void
}

/** Undefined when the lock is not free. */
export function tryLock(path: string, mode: 'shared' | 'exclusive'): FileLock | undefined {
  const database = new Database(path)
  try {
    database.run(mode === 'exclusive' ? 'begin exclusive' : 'begin')
    database.query('select count(*) from sqlite_master').get() // only a read takes the shared lock
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
