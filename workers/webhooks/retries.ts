const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** The waits after the failures in a row; the last one repeats. */
const waitsMs = [5_000, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 5 * hourMs, 10 * hourMs]
/** The share by which a wait is longer at most, so that webhooks that failed together are not tried together. */
const jitter = 0.1
export const patienceMs = 5 * 24 * hourMs

/** An attempt that failed: the failures in a row, and the time since the first of them. */
export interface Failure {
  failures: number
  failingMs: number
  status: number | null
  /** The wait that the receiver asks for. */
  retryAfterMs: number | null
}

/** When to try again, or why to disable the webhook. */
export function afterFailure(
  { failures, failingMs, status, retryAfterMs }: Failure,
  chance = Math.random(),
): { waitMs: number } | { disabled: string } {
  if (status === 410) return { disabled: 'The receiver answered 410 Gone' }
  if (failingMs >= patienceMs) return { disabled: 'All attempts of 5 days failed' }
  const longest = waitsMs.at(-1)!
  const waitMs = (waitsMs[failures - 1] ?? longest) * (1 + jitter * chance)
  const askedMs = Math.min(retryAfterMs ?? 0, longest)
  // The last attempt is at the end of the five days.
  return { waitMs: Math.round(Math.min(Math.max(waitMs, askedMs), patienceMs - failingMs)) }
}
