import { openStretches } from '../../modules/events/pages.ts'
import { deliveryRow } from '../../modules/webhooks/delivery-rows.ts'
import { eventsMessage } from '../../modules/webhooks/message.ts'
import { openSend, UnreadableSecret } from '../../modules/webhooks/send.ts'
import { newId } from '../../src/ids.ts'
import type { Services } from '../../src/services.ts'
import { Refusal } from '../../src/wire/refusals.ts'
import { afterFailure } from './retries.ts'
import type { Ending, Turn } from './turn.ts'

export type Deliver = ReturnType<typeof openDeliver>

/** Delivers what is next to one webhook, and says how that ended. @throws what `signal` says */
export function openDeliver(services: Pick<Services, 'database' | 'oldestKept' | 'outbound' | 'sealing'>) {
  const send = openSend(services)
  const stretchAt = openStretches(services)

  async function attempt(turn: Turn, signal: AbortSignal): Promise<Ending> {
    const { projectId, head: version, cursor: after, maxEvents: limit, types } = turn
    const { events, upTo } = await stretchAt({ projectId, version, after, limit, types })
    if (events.length === 0) return { turn, upTo }
    const outcome = await send(turn, turn.deliveryId, eventsMessage(projectId, events), signal)
    const { status, retryAfterMs } = outcome
    const failures = turn.failures + 1
    const row = deliveryRow(
      {
        ...{ webhookId: turn.id, id: newId(), deliveryId: turn.deliveryId, type: 'events' },
        ...{
          firstSeq: events[0]!.seq,
          lastSeq: events.at(-1)!.seq,
          events: events.length,
          attempt: failures,
        },
      },
      outcome,
    )
    if (status !== null && status >= 200 && status < 300) return { turn, upTo, attempt: row }
    const { failingMs } = turn
    return { turn, attempt: row, ...afterFailure({ failures, failingMs, status, retryAfterMs }) }
  }

  return (turn: Turn, signal: AbortSignal): Promise<Ending> =>
    attempt(turn, signal).catch((error: unknown) => {
      const disabled = hopeless(error)
      if (disabled === undefined) throw error
      return { turn, disabled }
    })
}

/** What no further attempt would change. */
function hopeless(error: unknown): string | undefined {
  if (error instanceof UnreadableSecret) return 'The secret cannot be read any more: rotate it'
  // Sending only what is left would lose what is not, and nobody would know.
  if (error instanceof Refusal && error.status === 410) return `${error.message}: replay after one that is`
  return undefined
}
