import { grouped, byOrdinal } from '../postgres/grouped.ts'
import type { Sql } from '../postgres/database.ts'
import { HttpError } from '../responses/errors.ts'
import type { Reply, StoredReply } from '../responses/reply.ts'
import { idempotencyKeys } from '../../drizzle/schema/idempotency.ts'
import { columnList } from '../postgres/columns.ts'

export interface IdempotencyKey {
  scope: string
  key: string
  /** A digest of method, path and body: the same key with another request is rejected. */
  fingerprint: string
}

const commandScope = 'orders'

/** The key under which a command's reply is stored, for the process that retries the command. */
export const commandKey = (commandId: string): IdempotencyKey => ({
  scope: commandScope,
  key: commandId,
  fingerprint: '',
})
export const isCommandKey = ({ scope }: IdempotencyKey): boolean => scope === commandScope

/**
 * Claims an id that a client chose: of several concurrent commits with the same id, only one succeeds. The record
 * outlives every command in progress; later commands find the id in the log.
 */
export const idClaim = (key: string): IdempotencyRecord => ({ ...emptyClaim, key })
const emptyClaim = { scope: 'ids', fingerprint: '', status: 0, body: '', etag: null }

export type IdempotencyRecord = IdempotencyKey & StoredReply

export type FindRecord = (guard: IdempotencyKey) => Promise<IdempotencyRecord | undefined>

/**
 * Finds the records of many keys in one query. The lateral join forces an index scan, even if the query was planned
 * when the table was empty.
 */
export function openFindRecord(sql: Sql): FindRecord {
  return grouped({ keys: 500, slots: 2 }, async (keys: IdempotencyKey[]) => {
    const rows = await sql<(IdempotencyRecord & { n: number })[]>`
      select q.n::int4 as n, ${columnList(sql, idempotencyKeys, 'k')} from unnest(${keys.map((g) => g.scope)}::text[], ${keys.map((g) => g.key)}::text[])
        with ordinality q(scope, key, n)
      cross join lateral (select * from idempotency_keys where scope = q.scope and key = q.key limit 1) k`
    return byOrdinal(keys.length, rows)
  })
}

export const recordName = ({ scope, key }: IdempotencyKey): string => `${scope} ${key}`

export const keyReused = () => new HttpError(422, 'This Idempotency-Key was used for another request')

/** Returns the stored reply, marked as replayed. @throws HttpError 422 if the key was used for another request */
export function replay(record: IdempotencyRecord, guard: IdempotencyKey): Reply {
  if (record.fingerprint !== guard.fingerprint) throw keyReused()
  const { status, body, etag } = record
  return { status, body, etag, ...(!isCommandKey(guard) && ({ replayed: true } as const)) }
}
