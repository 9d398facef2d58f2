import type { Reply } from '../wire/reply.ts'
import { etagOf } from '../wire/answers.ts'
import type { Command } from './command.ts'
import type { Person } from './people.ts'

/** What a command answers, from what its rule decided: the row's view and ETag, its message, or else the bare answer. */
export function replyOf<Row>(
  { status, shows, says }: Command<object, Row>,
  answer: unknown,
  person: Person | undefined,
): Reply {
  const body = shows ? shows.of(answer as Row, person) : says ? { message: says } : answer
  const etag = shows && !shows.untagged ? etagOf(answer as { eventId: string }, shows.tag?.(person)) : null
  return { status, body: JSON.stringify(body), etag }
}
