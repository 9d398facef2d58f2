import { pipeline } from 'node:stream/promises'
import type { Sql } from './database.ts'

type CopyQuery = Pick<ReturnType<Sql>, 'writable'>

/**
 * Sends rows to a `COPY … FROM stdin`, and waits until Postgres has stored them. An error after the last row reaches only
 * `reject` of the query: the stream of postgres.js does not emit this error.
 * @throws the error of Postgres, of the connection or of `rows`
 */
export async function copyRows(
  query: CopyQuery,
  rows: AsyncIterable<Uint8Array> | Uint8Array[],
): Promise<void> {
  const rejected = Promise.withResolvers<never>()
  rejected.promise.catch(() => {})
  const rejectable = query as unknown as { reject(error: unknown): void }
  const { reject } = rejectable
  rejectable.reject = (error) => {
    reject(error)
    rejected.reject(error)
  }
  await Promise.race([pipeline(rows, await query.writable()), rejected.promise])
}
