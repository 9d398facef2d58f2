import type { ReadRequest } from '../../src/commands/query.ts'
import type { IdempotencyRecord } from '../../src/commit/idempotency.ts'
import { readIdempotencyKey } from '../../src/http/idempotency.ts'
import { holderOf } from '../../src/identity/rights.ts'
import { type Reply, respondToWrite } from '../../src/responses/reply.ts'
import type { Services } from '../../src/services.ts'

/** Returns the idempotency record to write in the same statement; undefined without an Idempotency-Key. */
export type ToRecord = (reply: Reply) => IdempotencyRecord | undefined

export const replyWith = (body: object, status = 200): Reply => ({
  status,
  body: JSON.stringify(body),
  etag: null,
})

/** Runs a write. A retry with the same Idempotency-Key gets the stored reply; its body is not read. */
export async function writeOnce(
  { withIdempotency }: Pick<Services, 'withIdempotency'>,
  { request, caller }: ReadRequest,
  write: (toRecord: ToRecord) => Promise<Reply>,
): Promise<Response> {
  const key = readIdempotencyKey(request, holderOf(caller), null)
  const toRecord: ToRecord = (reply) => key && { ...key, ...reply }
  const isSame = async (one: string, other: string) => one === other
  const reply = await (key ? withIdempotency(key, () => write(toRecord), isSame) : write(toRecord))
  return respondToWrite(reply, { location: (id) => `/imports/${id}` }, {})
}
