import { openEventPages } from '../../modules/events/rows.ts'
import { send } from '../../modules/webhooks/send.ts'
import { HttpError } from '../../src/responses/errors.ts'
import type { Services } from '../../src/services.ts'
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

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** The waits after the first failure, the second failure, and so on. The last wait repeats. */
const waitsMs = [5_000, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 5 * hourMs, 10 * hourMs]
/** A random part up to 10 % separates the retries of webhooks that failed together. */
const jitter = 0.1
const giveUpAfterMs = 5 * 24 * hourMs

/** `failures` and `failingMs` count from the first failure after the last success. */
interface Failure {
  failures: number
  failingMs: number
  status: number | null
  retryAfterMs: number | null
}

export function afterFailure(
  { failures, failingMs, status, retryAfterMs }: Failure,
  random = Math.random(),
): { waitMs: number } | { disabled: string } {
  if (status === 410) return { disabled: 'The receiver answered 410 Gone' }
  if (failingMs >= giveUpAfterMs) return { disabled: 'All attempts of 5 days failed' }
  const longest = waitsMs.at(-1)!
  const waitMs = (waitsMs[failures - 1] ?? longest) * (1 + jitter * random)
  const requestedMs = Math.min(retryAfterMs ?? 0, longest)
  // The last attempt is at the latest `giveUpAfterMs` after the first failure.
  return { waitMs: Math.round(Math.min(Math.max(waitMs, requestedMs), giveUpAfterMs - failingMs)) }
}
