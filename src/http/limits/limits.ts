import type { Config } from '../../config.ts'
import type { Log } from '../../logger.ts'
import type { RedisClient } from '../../redis/connections.ts'
import { badRequest } from '../../responses/errors.ts'
import { Budget, CallerBudget, openLimiter, type OpenLimiter, rateLimited } from './budget.ts'
import { hashedKey, openPasswordChecks, withFailureLog } from './password-checks.ts'

/** All API tokens of an account share one budget, four times as large as the budget of one token. */
const tokensPerAccount = 4

export type Limits = ReturnType<typeof openLimits>
export type BudgetName = 'reads' | 'writes'

/** The limit for mails applies even if rate limits are off, because it protects the owners of email addresses. */
export function openLimits(redis: RedisClient, config: Config, log: Log) {
  const { invitationsPerHour, mailsPerHour, rateLimit, signInsPerMinute } = config
  const limiterOf: OpenLimiter = (policy) => openLimiter(redis, config.redisPrefix, policy)
  const perMinute = (name: string, points: number) => {
    const policy = { name, points, seconds: 60 }
    return new Budget(limiterOf(policy), policy)
  }
  const callerBudget = (name: BudgetName, points: number) =>
    new CallerBudget(perMinute(name, points), perMinute(`account-${name}`, tokensPerAccount * points))
  const reads = callerBudget('reads', config.readsPerMinute)
  const writes = callerBudget('writes', config.writesPerMinute)
  const signIns = perMinute('sign-ins', signInsPerMinute)
  const useInvitations = openHourly(limiterOf, 'invitations', invitationsPerHour)
  const useMail = openHourly(limiterOf, 'mails', mailsPerHour)
  return {
    budgets: rateLimit ? { reads, writes } : undefined,
    takeSignIn: (address: string) => (rateLimit ? signIns.take(address) : null),
    checkPassword: withFailureLog(log, rateLimit && openPasswordChecks(limiterOf, config)),
    /** Rejected invitations count too, because the error reveals whether an email address has an account. */
    async takeInvitations(userId: string, invitations: number): Promise<void> {
      if (!rateLimit) return
      if (invitations > invitationsPerHour)
        throw badRequest(`operations must contain at most ${invitationsPerHour} invitations`)
      await useInvitations(userId, invitations)
    },
    takeMail: (email: string) => useMail(hashedKey(email), 1),
  }
}

/** Returns a function that counts uses of a key. The function throws HttpError 429 above `points` an hour. */
function openHourly(limiterOf: OpenLimiter, name: string, points: number) {
  const policy = { name, points, seconds: 3_600 }
  const limiter = limiterOf(policy)
  return async (key: string, count: number): Promise<void> => {
    const { consumedPoints, msBeforeNext } = await limiter.penalty(key, count)
    if (consumedPoints > points) throw rateLimited(policy, msBeforeNext)
  }
}
