import { etagOf } from '../core/wire.ts'
import type { Decision } from './events.ts'

/** An answer as it goes out, and as it is kept for a caller who asks again. */
export interface Reply {
  status: number
  body: string
  etag: string | null
}

/** Answers a rule's row: its view as the body, its last event as the ETag, with what tells a name that it shows. */
export function showing<R extends { eventId: string }>(
  { changes, answer }: Decision<R>,
  view: (row: R) => object,
  status = 200,
  nameTag?: string,
): Decision<Reply> {
  return { changes, answer: { status, body: JSON.stringify(view(answer)), etag: etagOf(answer, nameTag) } }
}

/** Answers a message, as deletes do. */
export const saying = ({ changes }: Decision<void>, message: string): Decision<Reply> => ({
  changes,
  answer: { status: 200, body: JSON.stringify({ message }), etag: null },
})
