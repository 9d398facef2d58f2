import type { Config } from '../../config.ts'
import { type Caller, holderOf } from '../../identity/rights.ts'
import type { Log } from '../../log.ts'
import type { RedisClient } from '../../redis/connections.ts'
import { badRequest } from '../../wire/refusals.ts'
import { Budget, overdrawn, type Share } from './budget.ts'
import { type Counter, digestOf, openCounter, type Policy } from './counter.ts'
import { openDelays } from './delays.ts'
import { type Guess, logged, openGuesses } from './guesses.ts'

/** All API tokens of an account have as much as this many: one that runs wild leaves room for others, and many are no way around. */
const accountTokens = 4
/** How long an address is known from which an account signed in. */
const knownSeconds = 30 * 86_400

/** All of them throw a Refusal 429. */
export interface Limits {
  /** Takes one from a caller's budgets, and returns the share whose rest the caller is told. */
  use(caller: Caller, kind: Kind): Share | null | Promise<Share>
  /** Takes one from the budget of a token alone. */
  useOwn(holder: string, kind: Kind): Share | null | Promise<Share>
  /** Takes more for a request that costs as much as many. */
  useMore(caller: Caller, kind: Kind, count: number): Promise<void>
  /** Takes from an address's budget of sign-ins and registrations. */
  enter(address: string): Share | null | Promise<Share>
  guess: Guess
  /**
   * Takes invitations from an account's budget, rejected ones too: such an error says whether an address has an account.
   * @throws Refusal 400 for more than an hour has
   */
  invite(userId: string, invitations: number): Promise<void>
  /** Takes a mail from what an address is sent in an hour, whatever account has it. */
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

type OpenCounter = (policy: Policy) => Counter

/**
 * The limits of each caller, shared by all processes through Redis. Off, they cost nothing. Mails to an address are
 * bounded all the same: its owner may be no caller at all.
 */
export function openLimits(redis: RedisClient, config: Config, log: Log): Limits {
  const counter: OpenCounter = (policy) => openCounter(redis, config.redisPrefix, policy)
  const guess: Guess = config.rateLimit ? guessOf(counter, redis, config) : (_, isRight) => isRight()
  const callers = config.rateLimit ? limitsOf(counter, config) : none
  const useMail = openHourly(counter, 'mails', config.mailsPerHour)
  return { ...callers, guess: logged(log, guess), mail: (email) => useMail(digestOf(email), 1) }
}

function limitsOf(counter: OpenCounter, config: Config): typeof none {
  const { invitationsPerHour, readsPerMinute, writesPerMinute, signInsPerMinute } = config
  const perMinute = (name: string, points: number) => {
    const policy = { name, points, seconds: 60 }
    return new Budget(counter(policy), policy)
  }
  const own = { reads: perMinute('reads', readsPerMinute), writes: perMinute('writes', writesPerMinute) }
  const ofAccount = {
    reads: perMinute('account-reads', accountTokens * readsPerMinute),
    writes: perMinute('account-writes', accountTokens * writesPerMinute),
  }
  const signIns = perMinute('sign-ins', signInsPerMinute)
  const useInvitations = openHourly(counter, 'invitations', invitationsPerHour)
  /** A token that has used up its own budget takes nothing from that of its account. */
  const takeOfBoth = async (kind: Kind, accountId: string, share: Share | Promise<Share>) => {
    const taken = await share
    await ofAccount[kind].take(accountId)
    return taken
  }
  return {
    use(caller, kind) {
      const share = own[kind].take(holderOf(caller))
      return caller.token ? takeOfBoth(kind, caller.userId, share) : share
    },
    useOwn: (holder, kind) => own[kind].take(holder),
    async useMore(caller, kind, count) {
      await own[kind].takeMore(holderOf(caller), count)
      if (caller.token) await ofAccount[kind].takeMore(caller.userId, count)
    },
    enter: (address) => signIns.take(address),
    async invite(userId, invitations) {
      if (invitations > invitationsPerHour)
        throw badRequest(`operations must hold at most ${invitationsPerHour} invitations`)
      await useInvitations(userId, invitations)
    },
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

/** Counts what a key uses in an hour. @throws Refusal 429 when this is more than the policy allows */
function openHourly(counterOf: OpenCounter, name: string, points: number) {
  const policy = { name, points, seconds: 3_600 }
  const counter = counterOf(policy)
  return async (key: string, count: number): Promise<void> => {
    const used = await counter.add(key, count)
    if (used.points > points) throw overdrawn(policy, used.msToEnd)
  }
}
