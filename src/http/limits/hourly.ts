import { badRequest } from '../../wire/refusals.ts'
import { type Counter, digestOf, type Policy } from './counter.ts'
import { overdrawn } from './budget.ts'

type CounterOf = (policy: Policy) => Counter

/** Counts what a key uses in an hour. @throws Refusal 429 when this is more than the policy allows */
function openHourly(counterOf: CounterOf, name: string, points: number) {
  const policy = { name, points, seconds: 3_600 }
  const counter = counterOf(policy)
  return async (key: string, count = 1): Promise<void> => {
    const used = await counter.add(key, count)
    if (used.points > points) throw overdrawn(policy, used.msToEnd)
  }
}

/**
 * Counts the invitations of an account. A rejected invitation counts too: it looks up an account by its address, and
 * its error says whether there is one.
 */
export function openInvitations(counterOf: CounterOf, perHour: number) {
  const use = openHourly(counterOf, 'invitations', perHour)
  return async (userId: string, invitations: number): Promise<void> => {
    if (invitations > perHour) throw badRequest(`operations must hold at most ${perHour} invitations`)
    await use(userId, invitations)
  }
}

/** Bounds the mails to one address in an hour, whatever account has it. */
export function openMailLimit(counterOf: CounterOf, perHour: number) {
  const use = openHourly(counterOf, 'mails', perHour)
  return (email: string): Promise<void> => use(digestOf(email))
}
