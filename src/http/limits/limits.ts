import type { Config } from '../../config.ts'
import type { Log } from '../../log.ts'
import type { RedisClient } from '../../redis/connections.ts'
import { badRequest } from '../../responses/errors.ts'
import { Budget, CallerBudget, rateLimited, type Share } from './budget.ts'
import { type Counter, hashedKey, openCounter, type Policy } from './counter.ts'
import { openDelays } from './delays.ts'
import { type CheckPassword, withFailureLog, openPasswordChecks } from './password-checks.ts'

/** All API tokens of an account have as much as this many: one that runs wild leaves room for others, and many are no way around. */
const tokensPerAccount = 4

export interface Limits {
  /** Undefined when the limits of callers are off: then they cost nothing. */
  budgets: Record<BudgetName, CallerBudget> | undefined
  /** Takes from an address's budget of sign-ins and registrations. @throws HttpError 429 */
  takeSignIn(address: string): Share | null | Promise<Share>
  checkPassword: CheckPassword
  /**
   * Takes invitations from an account's budget, rejected ones too: such an error says whether an address has an account.
   * @throws HttpError 429, or 400 for more than an hour has
   */
  takeInvitations(userId: string, invitations: number): Promise<void>
  /** Takes a mail from what an address is sent in an hour, whatever account has it. @throws HttpError 429 */
  takeMail(email: string): Promise<void>
}

export type BudgetName = 'reads' | 'writes'

type OpenCounter = (policy: Policy) => Counter

/**
 * The limits of each caller, shared by all processes through Redis. Mails to an address are bounded even when the limits are
 * off: its owner may be no caller at all.
 */
export function openLimits(redis: RedisClient, config: Config, log: Log): Limits {
  const { invitationsPerHour, mailsPerHour, rateLimit, signInsPerMinute } = config
  const counter: OpenCounter = (policy) => openCounter(redis, config.redisPrefix, policy)
  const perMinute = (name: string, points: number) => {
    const policy = { name, points, seconds: 60 }
    return new Budget(counter(policy), policy)
  }
  const ofCaller = (name: BudgetName, points: number) =>
    new CallerBudget(perMinute(name, points), perMinute(`account-${name}`, tokensPerAccount * points))
  const reads = ofCaller('reads', config.readsPerMinute)
  const writes = ofCaller('writes', config.writesPerMinute)
  const signIns = perMinute('sign-ins', signInsPerMinute)
  const useInvitations = openHourly(counter, 'invitations', invitationsPerHour)
  const useMail = openHourly(counter, 'mails', mailsPerHour)
  return {
    budgets: rateLimit ? { reads, writes } : undefined,
    takeSignIn: (address) => (rateLimit ? signIns.take(address) : null),
    checkPassword: withFailureLog(
      log,
      rateLimit ? openCheckPassword(counter, redis, config) : (_, isRight) => isRight(),
    ),
    async takeInvitations(userId, invitations) {
      if (!rateLimit) return
      if (invitations > invitationsPerHour)
        throw badRequest(`operations must hold at most ${invitationsPerHour} invitations`)
      await useInvitations(userId, invitations)
    },
    takeMail: (email) => useMail(hashedKey(email), 1),
  }
}

function openCheckPassword(counter: OpenCounter, redis: RedisClient, config: Config): CheckPassword {
  const { redisPrefix, signInFailures: points, signInFailureMinutes } = config
  const seconds = signInFailureMinutes * 60
  const delays = openDelays(redis, redisPrefix, { free: points, windowMs: seconds * 1000 })
  return openPasswordChecks(counter, delays, { name: 'sign-in-failures', points, seconds })
}

/** Counts what a key uses in an hour. @throws HttpError 429 when this is more than the policy allows */
function openHourly(counterOf: OpenCounter, name: string, points: number) {
  const policy = { name, points, seconds: 3_600 }
  const counter = counterOf(policy)
  return async (key: string, count: number): Promise<void> => {
    const used = await counter.add(key, count)
    if (used.points > points) throw rateLimited(policy, used.msToEnd)
  }
}
