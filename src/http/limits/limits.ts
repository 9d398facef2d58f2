import { type Caller, holderOf } from '../../identity/rights.ts'
import type { Config } from '../../config.ts'
import type { Log } from '../../log.ts'
import { Budget, type Share } from './budget.ts'
import { type Counter, openCounter, type Policy } from './counter.ts'
import { openDelays } from './delays.ts'
import { type Guess, logged, openGuesses } from './guesses.ts'
import { openInvitations, openMailLimit } from './hourly.ts'
import type { RedisClient } from '../../redis/connections.ts'

/** All API tokens of an account have as much as this many: one that runs wild leaves room for others, and many are no way around. */
const accountTokens = 4

export interface Limits {
  /** Takes one from a caller's budgets, and returns that of which the caller is told. @throws Refusal 429 */
  use(caller: Caller, kind: Kind): Share | null | Promise<Share>
  /** Takes from the budget of a token alone. @throws Refusal 429 */
  useOwn(holder: string, kind: Kind): Share | null | Promise<Share>
  /** Takes more for a request that costs as much as many. @throws Refusal 429 */
  useMore(caller: Caller, kind: Kind, count: number): Promise<void>
  /** Takes from an address's budget of sign-ins and registrations. @throws Refusal 429 */
  enter(address: string): Share | null | Promise<Share>
  guess: Guess
  /** Takes invitations from an account's budget. @throws Refusal 429, or 400 for more than an hour has */
  invite(userId: string, invitations: number): Promise<void>
  /** Takes a mail from what an address is sent in an hour. @throws Refusal 429 */
  mail(email: string): Promise<void>
}

export type Kind = 'reads' | 'writes'

const none: Omit<Limits, 'guess' | 'mail'> = {
  use: () => null,
  useOwn: () => null,
  useMore: async () => {},
  enter: () => null,
  invite: async () => {},
}
/** How long an address is known from which an account signed in. */
const knownSeconds = 30 * 86_400

type OpenCounter = (policy: Policy) => Counter

/** One that has used up its own budget takes nothing from that of its account. */
const takeAlso = (budget: Budget, accountId: string, share: Share): Share | Promise<Share> => {
  const taken = budget.take(accountId)
  return taken instanceof Promise ? taken.then(() => share) : share
}

/**
 * The limits of each caller, shared by all processes through Redis. Off, they cost nothing. What an address is sent is
 * bounded all the same: its owner may be no caller at all.
 */
export function openLimits(redis: RedisClient, config: Config, log: Log): Limits {
  const counter: OpenCounter = (policy) => openCounter(redis, config.redisPrefix, policy)
  const guess: Guess = config.rateLimit ? guessOf(counter, redis, config) : (_, isRight) => isRight()
  const callers = config.rateLimit ? limitsOf(counter, config) : none
  return { ...callers, guess: logged(log, guess), mail: openMailLimit(counter, config.mailsPerHour) }
}

function limitsOf(counter: OpenCounter, config: Config): typeof none {
  const budget = (policy: Policy) => new Budget(counter(policy), policy)
  const perMinute = (name: string, points: number) => budget({ name, points, seconds: 60 })
  const own = {
    reads: perMinute('reads', config.readsPerMinute),
    writes: perMinute('writes', config.writesPerMinute),
  }
  const ofAccount = {
    reads: perMinute('account-reads', accountTokens * config.readsPerMinute),
    writes: perMinute('account-writes', accountTokens * config.writesPerMinute),
  }
  const signIns = perMinute('sign-ins', config.signInsPerMinute)
  return {
    use(caller, kind) {
      const share = own[kind].take(holderOf(caller))
      if (!caller.token) return share
      const andOfAccount = (own: Share) => takeAlso(ofAccount[kind], caller.userId, own)
      return share instanceof Promise ? share.then(andOfAccount) : andOfAccount(share)
    },
    useOwn: (holder, kind) => own[kind].take(holder),
    async useMore(caller, kind, count) {
      await own[kind].takeMore(holderOf(caller), count)
      if (caller.token) await ofAccount[kind].takeMore(caller.userId, count)
    },
    enter: (address) => signIns.take(address),
    invite: openInvitations(counter, config.invitationsPerHour),
  }
}

function guessOf(counter: OpenCounter, redis: RedisClient, config: Config): Guess {
  const seconds = config.signInFailureMinutes * 60
  const policy = { name: 'sign-in-failures', points: config.signInFailures, seconds }
  return openGuesses({
    ...{ policy, failures: counter(policy) },
    signedIn: counter({ name: 'signed-in', points: 1, seconds: knownSeconds }),
    delays: openDelays(redis, config.redisPrefix, { free: policy.points, windowMs: seconds * 1000 }),
  })
}
