import type { Config } from '../../config.ts'
import { Budget, type Share } from './budget.ts'
import { type Counter, openCounter, type Policy } from './counter.ts'
import { type Guess, openGuesses } from './guesses.ts'
import { openInvitations, openMailLimit } from './hourly.ts'
import type { RedisClient } from '../../redis/connections.ts'

export interface Limits {
  /** Takes from a holder's budget of reads or of writes. @throws Refusal 429 */
  use(holder: string, method: string): Share | null | Promise<Share>
  /** Takes more writes for a request that is many. @throws Refusal 429 */
  useMore(holder: string, writes: number): Promise<void>
  /** Takes from an address's budget of sign-ins and registrations. @throws Refusal 429 */
  enter(address: string): Share | null | Promise<Share>
  guess: Guess
  /** Takes invitations from an account's budget. @throws Refusal 429, or 400 for more than an hour has */
  invite(userId: string, invitations: number): Promise<void>
  /** Takes a mail from what an address is sent in an hour. @throws Refusal 429 */
  mail(email: string): Promise<void>
  /** The same; false instead of an error. */
  mayMail(email: string): Promise<boolean>
}

const none: Omit<Limits, 'mail' | 'mayMail'> = {
  use: () => null,
  useMore: async () => {},
  enter: () => null,
  guess: (_, isRight) => isRight(),
  invite: async () => {},
}

/**
 * The limits of each caller, shared by all processes through Redis. Off, they cost nothing. What an address is sent is
 * bounded all the same: its owner may be no caller at all.
 */
export function openLimits(redis: RedisClient, config: Config): Limits {
  const counter = (policy: Policy) => openCounter(redis, config.redisPrefix, policy)
  const callers = config.rateLimit ? limitsOf(counter, config) : none
  return { ...callers, ...openMailLimit(counter, config.mailsPerHour) }
}

function limitsOf(counter: (policy: Policy) => Counter, config: Config) {
  const budget = (policy: Policy) => new Budget(counter(policy), policy)
  const perMinute = (name: string, points: number) => budget({ name, points, seconds: 60 })
  const reads = perMinute('reads', config.readsPerMinute)
  const writes = perMinute('writes', config.writesPerMinute)
  const signIns = perMinute('sign-ins', config.signInsPerMinute)
  const seconds = config.signInFailureMinutes * 60
  const failures = { name: 'sign-in-failures', points: config.signInFailures, seconds }
  return {
    use: (holder: string, method: string) =>
      (method === 'GET' || method === 'HEAD' ? reads : writes).take(holder),
    useMore: (holder: string, count: number) => writes.takeMore(holder, count),
    enter: (address: string) => signIns.take(address),
    guess: openGuesses(counter(failures), failures),
    invite: openInvitations(counter, config.invitationsPerHour),
  }
}
