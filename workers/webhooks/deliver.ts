import { openEventPages } from '../../modules/events/pages.ts'
import { send } from '../../modules/webhooks/send.ts'
import type { Services } from '../../src/services.ts'
import { HttpError } from '../../src/responses/errors.ts'
import { afterFailure } from './retries.ts'
import type { Turn } from './begin-turns.ts'
import type { Ending } from './turns.ts'

/** Delivers the next events to one webhook, and returns how that ended. @throws the reason of `signal` */
export function openDeliver(services: Pick<Services, 'database' | 'oldestSeq' | 'outbound' | 'sealing'>) {
  const pageAt = openEventPages(services)

  async function attempt(turn: Turn, signal: AbortSignal): Promise<Ending> {
    const { projectId, head: version, cursor: after, maxEvents: limit, types } = turn
    const { events, upTo } = await pageAt({ projectId, version, after, limit, types })
    if (events.length === 0) return { turn, upTo }
    const { deliveryId } = turn
    const failures = turn.failures + 1
    const message = { deliveryId, attempt: failures, events, signal }
    const { row, retryAfterMs } = await send(services, turn, message)
    const { status } = row
    if (status !== null && status >= 200 && status < 300) return { turn, upTo, attempt: row }
    return { turn, attempt: row, ...afterFailure({ ...turn, failures, status, retryAfterMs }) }
  }

  return (turn: Turn, signal: AbortSignal): Promise<Ending> =>
    attempt(turn, signal).catch((error: unknown) => {
      const disabled = hopeless(error)
      if (disabled === undefined) throw error
      return { turn, disabled }
    })
}

/** Why no further attempt can succeed: the secret cannot be read, or events are no longer kept. */
function hopeless(error: unknown): string | undefined {
  if (!(error instanceof HttpError)) return undefined
  if (error.status === 409) return error.message
  // To continue with the events that are left would hide that others are lost.
  return error.status === 410 ? `${error.message}: replay after one that is` : undefined
}
