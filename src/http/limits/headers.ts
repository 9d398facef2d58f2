import { Refusal } from '../../wire/refusals.ts'
import type { Share } from './budget.ts'
import type { Policy } from './counter.ts'

const policies = new Map<Policy, string>()

/** `RateLimit-Policy` of draft-ietf-httpapi-ratelimit-headers: always the same text. */
function policyHeader(policy: Policy): string {
  const known = policies.get(policy)
  if (known) return known
  const text = `"${policy.name}";q=${policy.points};w=${policy.seconds}`
  policies.set(policy, text)
  return text
}

/** A text made for each answer costs 0.6 µs; a large budget's may be this old, for it is not exact anyway. */
const toldMs = 100

/** Tells a caller what is left of their budget. */
export function tell(headers: Headers, share: Share): void {
  const { policy, chunk } = share.budget
  const now = performance.now()
  if (now >= share.toldUntil) {
    const seconds = Math.max(0, Math.ceil((share.endsAt - now) / 1000))
    share.told = `"${policy.name}";r=${share.left + share.rest};t=${seconds}`
    share.toldUntil = chunk > 1 ? now + toldMs : 0
  }
  headers.set('ratelimit-policy', policyHeader(policy))
  headers.set('ratelimit', share.told)
}

/** The refusal for who has used up a budget: says when the next one begins. */
export function overdrawn(policy: Policy, msToEnd: number): Refusal {
  const seconds = wholeSeconds(msToEnd)
  return new Refusal(429, `Too many requests; ${tryAgainIn(seconds)}`, {
    'retry-after': String(seconds),
    'ratelimit-policy': policyHeader(policy),
    ratelimit: `"${policy.name}";r=0;t=${seconds}`,
  })
}

/** The refusal of an attempt before the delay after wrong passwords is over. */
export function delayed(ms: number): Refusal {
  const seconds = wholeSeconds(ms)
  const message = `Too many wrong passwords for this account; ${tryAgainIn(seconds)}`
  return new Refusal(429, message, { 'retry-after': String(seconds) })
}

const wholeSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000))
const tryAgainIn = (seconds: number): string => `try again in ${seconds} second${seconds > 1 ? 's' : ''}`
