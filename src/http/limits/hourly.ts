import { createHash } from 'node:crypto'
import { badRequest } from '../../wire/refusals.ts'
import type { Counter, Policy } from './counter.ts'
import { overdrawn } from './headers.ts'

/** Counts what a key uses in an hour. @throws Refusal 429 when this is more than the policy allows */
const openHourly = (counterOf: (policy: Policy) => Counter, name: string, points: number) => {
  const policy = { name, points, seconds: 3_600 }
  const counter = counterOf(policy)
  return async (key: string, count = 1): Promise<void> => {
    const used = await counter.add(key, count)
    if (used.points > points) throw overdrawn(policy, used.msToEnd)
  }
}

const tooManyInvitations = (most: number) => badRequest(`operations must hold at most ${most} invitations`)

/**
 * Counts the invitations of an account. A rejected invitation counts too: it looks up an account by its address, and
 * its error says whether there is one.
 */
export function openInvitations(counterOf: (policy: Policy) => Counter, perHour: number) {
  const use = openHourly(counterOf, 'invitations', perHour)
  return async (userId: string, invitations: number): Promise<void> => {
    if (invitations > perHour) throw tooManyInvitations(perHour)
    await use(userId, invitations)
  }
}

/** Bounds the mails to one address in an hour, whatever account has it. Keys are digests: no counter names an address. */
export function openMailLimit(counterOf: (policy: Policy) => Counter, perHour: number) {
  const use = openHourly(counterOf, 'mails', perHour)
  const mail = (email: string) => use(createHash('sha256').update(email).digest('base64url'))
  return {
    mail,
    mayMail: (email: string): Promise<boolean> =>
      mail(email).then(
        () => true,
        () => false,
      ),
  }
}
