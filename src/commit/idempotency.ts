import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { HttpError } from '../responses/errors.ts'
import { byOrdinal } from '../postgres/row-order.ts'
import type { Reply } from '../responses/reply.ts'
import { idempotencyKeys } from '../../drizzle/schema/idempotency.ts'
import { columnList } from '../postgres/columns.ts'

/** What a caller's Idempotency-Key stands for (draft-ietf-httpapi-idempotency-key-header). */
export interface IdempotencyKey {
  /** Whose key it is: keys of different callers never meet. */
  scope: string
  key: string
  /** A digest of method, path and body: the same key for something else is refused. */
  fingerprint: string
}

const orders = 'orders'

/** Keeps a command's answer under the command's id, for the process that takes the command over. */
export const ownKey = (commandId: string): IdempotencyKey => ({
  scope: orders,
  key: commandId,
  fingerprint: '',
})
export const isOwn = ({ scope }: IdempotencyKey): boolean => scope === orders

/**
 * Claims the id that a client made, as a key of its own that is committed with what gets the id. Of commits in several
 * projects at once one gets it, whatever it is for. The claim outlives every command that was on its way meanwhile; commands
 * after it find the id in the log.
 */
export const claimOf = (key: string): IdempotencyRecord => ({ ...claim, key })
const claim = { scope: 'ids', fingerprint: '', status: 0, body: '', etag: null }

/** A key with the answer it was given, committed together with what it did. */
export type IdempotencyRecord = IdempotencyKey & Reply

export type FindRecord = (guard: IdempotencyKey) => Promise<IdempotencyRecord | undefined>

/** Looks up what keys were answered, many in one query: by its key each, also by a plan from when the table was empty. */
export function openFindRecord(sql: Sql): FindRecord {
  return batched({ keys: 500, slots: 2 }, async (guards: IdempotencyKey[]) => {
    const rows = await sql<(IdempotencyRecord & { n: number })[]>`
      select q.n::int4 as n, ${columnList(sql, idempotencyKeys, 'k')} from unnest(${guards.map((g) => g.scope)}::text[], ${guards.map((g) => g.key)}::text[])
        with ordinality q(scope, key, n)
      cross join lateral (select * from idempotency_keys where scope = q.scope and key = q.key limit 1) k`
    return byOrdinal(guards.length, rows)
  })
}

export const nameOf = ({ scope, key }: IdempotencyKey): string => `${scope} ${key}`

export const usedOtherwise = () => new HttpError(422, 'This Idempotency-Key was used for another request')

/**
 * The answer given before, marked as such.
 * @throws HttpError 422 when the key was used for another request.
 */
export function replay(kept: IdempotencyRecord, guard: IdempotencyKey): Reply & { replayed?: true } {
  if (kept.fingerprint !== guard.fingerprint) throw usedOtherwise()
  const { status, body, etag } = kept
  return { status, body, etag, ...(!isOwn(guard) && ({ replayed: true } as const)) }
}
