const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** The wait after the first failure, the second failure, and so on. All further waits are as long as the last. */
const waitsMs = [5_000, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 5 * hourMs, 10 * hourMs]
/** Each wait is longer by a random part up to 10 %, so that webhooks that failed together are not retried together. */
const jitter = 0.1
const giveUpAfterMs = 5 * 24 * hourMs

/** A failed attempt, with the number of failures after the last success and the time since the first of them. */
export interface Failure {
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
  // The wait ends at the latest when `giveUpAfterMs` is over, for the last attempt.
  return { waitMs: Math.round(Math.min(Math.max(waitMs, requestedMs), giveUpAfterMs - failingMs)) }
}
