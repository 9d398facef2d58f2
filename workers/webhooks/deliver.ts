import { openEventPages } from '../../modules/events/rows.ts'
import { send } from '../../modules/webhooks/send.ts'
import type { Services } from '../../src/services.ts'
import { HttpError } from '../../src/responses/errors.ts'
import { afterFailure } from './retries.ts'
import type { Claim, DeliveryResult } from './claims.ts'

export function openDeliver(services: Pick<Services, 'database' | 'oldestSeq' | 'outbound' | 'encryption'>) {
  const pageAt = openEventPages(services)

  async function attempt(claim: Claim, signal: AbortSignal): Promise<DeliveryResult> {
    const { projectId, head: version, cursor: after, maxEvents: limit, types } = claim
    const { events, upTo } = await pageAt({ projectId, version, after, limit, types })
    if (events.length === 0) return { claim, upTo }
    const { deliveryId } = claim
    const failures = claim.failures + 1
    const message = { deliveryId, attempt: failures, events, signal }
    const { row, retryAfterMs } = await send(services, claim, message)
    const { status } = row
    if (status !== null && status >= 200 && status < 300) return { claim, upTo, attempt: row }
    return { claim, attempt: row, ...afterFailure({ ...claim, failures, status, retryAfterMs }) }
  }

  return (claim: Claim, signal: AbortSignal): Promise<DeliveryResult> =>
    attempt(claim, signal).catch((error: unknown) => {
      const disabled = permanentFailure(error)
      if (disabled === undefined) throw error
      return { claim, disabled }
    })
}

/** The reason why no further attempt can succeed: the secret is unreadable, or the next events have expired. */
function permanentFailure(error: unknown): string | undefined {
  if (!(error instanceof HttpError)) return undefined
  if (error.status === 409) return error.message
  // If delivery continued with the remaining events, the receiver would not notice the loss.
  return error.status === 410 ? `${error.message}: replay from a later event` : undefined
}
