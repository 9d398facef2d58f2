const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** The waits after the first failure, the second failure, and so on. The last wait repeats. */
const waitsMs = [5_000, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 5 * hourMs, 10 * hourMs]
/** A random part up to 10 % separates the retries of webhooks that failed together. */
const jitter = 0.1
const giveUpAfterMs = 5 * 24 * hourMs

/** `failures` and `failingMs` count from the first failure after the last success. */
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
  // The last attempt is at the latest `giveUpAfterMs` after the first failure.
  return { waitMs: Math.round(Math.min(Math.max(waitMs, requestedMs), giveUpAfterMs - failingMs)) }
}
