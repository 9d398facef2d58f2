import { copyRows } from '../../../src/postgres/copy.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import { errorCode } from '../../../src/postgres/errors.ts'
import { retryOnce } from '../../../src/postgres/retries.ts'
import { UploadRemoved } from './removed.ts'

/**
 * Stores a chunk. COPY sends its bytes as they are: as a parameter they would be text, and the copies of the text would
 * take 1.7 MiB of memory for a chunk (measured). The lock prevents workers from removing the import.
 * @throws UploadRemoved if a worker has removed the import
 */
export async function insertChunk(sql: Sql, importId: string, n: number, bytes: Uint8Array): Promise<void> {
  const store = () =>
    sql.begin(async (tx) => {
      const [receiving] = await tx`
        select id from imports where id = ${importId} and state = 'receiving' for share`
      if (!receiving) throw new UploadRemoved()
      const copy = tx`copy import_chunks (import_id, n, bytes) from stdin (format binary)`
      await copyRows(copy, [rowStart(importId, n, bytes.length), bytes, noMoreRows])
    })
  await retryOnce(store).catch((error: unknown) => {
    // The first attempt has already stored the chunk.
    if (errorCode(error) !== uniqueViolation) throw error
  })
}

const uniqueViolation = '23505'
const fileHeader = Buffer.from('PGCOPY\n\xff\r\n\0' + '\0'.repeat(8), 'latin1')
const noMoreRows = Buffer.from([0xff, 0xff])

/** The bytes before those of the chunk, see https://www.postgresql.org/docs/current/sql-copy.html */
function rowStart(importId: string, n: number, length: number): Buffer {
  const row = Buffer.alloc(34)
  row.writeInt16BE(3, 0)
  row.writeInt32BE(16, 2)
  row.write(importId.replaceAll('-', ''), 6, 'hex')
  row.writeInt32BE(4, 22)
  row.writeInt32BE(n, 26)
  row.writeInt32BE(length, 30)
  return Buffer.concat([fileHeader, row])
}
