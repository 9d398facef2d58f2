import type { Decision } from '../facts/facts.ts'
import type { Reply } from '../wire/reply.ts'
import { etagOf } from '../wire/answers.ts'
import type { Command } from './command.ts'
import type { Person } from './people.ts'

/** What a command answers, from what its rule decided: the row's view and ETag, its message, or else the bare answer. */
export function replyOf<Row>(
  { status, shows, says }: Command<object, Row>,
  { changes, isBatch, answer }: Decision<Row>,
  person: Person | undefined,
): Decision<Reply> {
  const body = shows ? shows.of(answer, person) : says ? { message: says } : answer
  const etag = shows ? etagOf(answer as { eventId: string }, shows.tag?.(person)) : null
  return { changes, isBatch, answer: { status, body: JSON.stringify(body), etag } }
}
