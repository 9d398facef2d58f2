import { Database } from 'bun:sqlite'

/** Takes a lock between processes; a crash of the holder frees it. Returns undefined if the lock is taken. */
export function tryLock(path: string, mode: 'shared' | 'exclusive') {
  const database = new Database(path)
  try {
    database.run(mode === 'exclusive' ? 'begin exclusive' : 'begin')
    database.query('select count(*) from sqlite_master').get() // SQLite takes the shared lock at the first read
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
