const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** How long after each failure in a row; the last goes on. */
const waitsMs = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour]
/** So much longer, at most, that not all who failed together come together. */
const jitter = 0.1
export const patienceMs = 5 * day

/** An attempt that failed, and what was before it. */
export interface Failure {
  /** The failures in a row that it ends. */
  failures: number
  /** Since the first of them. */
  failingMs: number
  status: number | null
  /** What the receiver asks for. */
  retryAfterMs: number | null
}

/** When to try again, or why not to any more. Pure, but for the chance that is given. */
export function afterFailure(
  { failures, failingMs, status, retryAfterMs }: Failure,
  chance = Math.random(),
): { waitMs: number } | { disabled: string } {
  if (status === 410) return { disabled: 'The receiver answered 410 Gone' }
  if (failingMs >= patienceMs) return { disabled: 'All attempts of 5 days failed' }
  const longest = waitsMs.at(-1)!
  const waitMs = (waitsMs[failures - 1] ?? longest) * (1 + jitter * chance)
  const askedMs = Math.min(retryAfterMs ?? 0, longest)
  // The last attempt is when its time is over, so that it is not waited for in vain.
  return { waitMs: Math.round(Math.min(Math.max(waitMs, askedMs), patienceMs - failingMs)) }
}
