import { Database } from 'bun:sqlite'

/** A lock between processes, which a crash of its holder frees. Undefined when it is not free. */
export function tryLock(path: string, mode: 'shared' | 'exclusive') {
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
