import type { MemberRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import type { RuleContext } from '../../src/commands/command.ts'
import type { StoredRows } from '../../src/model/entities.ts'
import { type EventDraft, deleted } from '../../src/model/events.ts'
import { toldOf } from '../../src/log/rows.ts'
import { conflict, forbidden } from '../../src/responses/errors.ts'
import type { Creations, Departure } from './schema.ts'

const maxEvents = 5_000

const none: Creations = { webhooks: [], serviceAccounts: [], tokens: [] }

export const tooMuchToRevoke = () =>
  conflict(
    `More than ${maxEvents} integrations would end at once: delete service accounts of the member first`,
  )
export const ownEnd = () => forbidden('A service account cannot end itself')

/** @param now tokens that expired before do not count */
function creationsOf(state: ProjectState, userId: string, now: string): Creations {
  const creators = new Set([userId])
  const isCreated = ({ createdBy }: { createdBy: string | null }) =>
    createdBy !== null && creators.has(createdBy)
  const all = state.all('service_account')
  for (let size = 0; size < creators.size;) {
    size = creators.size
    for (const account of [...(state.onDemand?.links ?? []), ...all])
      if (isCreated(account)) creators.add(account.id)
  }
  return {
    webhooks: state.all('webhook').filter(isCreated),
    serviceAccounts: all.filter((account) => account.id !== userId && isCreated(account)),
    tokens: state.all('token').filter((token) => isCreated(token) && token.expiresAt > now),
  }
}

interface Removal {
  revoke?: string
}

/** How much a removal that revokes will end is not known before: it counts as so many writes, and few are in progress. */
const revocationWrites = 100
export const removing = {
  cost: ({ revoke }: Removal) => (revoke === 'true' ? revocationWrites : 1),
  isExpensive: ({ revoke }: Removal) => revoke === 'true',
  storesReply: true,
} as const

interface Wish extends Removal {
  message: string
}

/**
 * Removes a member, with the service account that it may be. With `revoke`, what the member created ends too.
 * @throws HttpError 403, 409
 */
export function departure(
  state: ProjectState,
  known: RuleContext,
  member: MemberRow,
  { revoke, message }: Wish,
) {
  const created = creationsOf(state, member.userId, known.now)
  const own = state.row('service_account', member.userId)
  const changes = own ? endAccount(state, known, own) : [deleted(state, known, 'member.removed', member)]
  const isRevoked = revoke === 'true'
  if (isRevoked) {
    if (created.serviceAccounts.some(({ id }) => id === known.caller.userId)) throw ownEnd()
    changes.push(...endAll(state, known, created))
    if (changes.length > maxEvents || state.onDemand?.isTruncated) throw tooMuchToRevoke()
  }
  const [stillWorking, revoked] = isRevoked ? [none, created] : [created, none]
  const answer: Departure = { message, stillWorking, revoked }
  return { changes, isBatch: changes.length > 1, answer }
}

function endAll(
  state: ProjectState,
  known: RuleContext,
  { webhooks, serviceAccounts, tokens }: Creations,
): EventDraft[] {
  const ended = new Set(serviceAccounts.map(({ id }) => id))
  const others = tokens.filter(({ userId }) => !ended.has(userId)) // the tokens of an account end with it
  return [
    ...serviceAccounts.flatMap((account) => endAccount(state, known, account)),
    ...webhooks.map((row) => deleted(state, known, 'webhook.deleted', toldOf('webhook', row))),
    ...others.map((row) => deleted(state, known, 'token.deleted', toldOf('token', row))),
  ]
}

function endAccount(
  state: ProjectState,
  known: RuleContext,
  row: StoredRows['service_account'],
): EventDraft[] {
  const member = state.memberOf(row.id)
  return [
    deleted(state, known, 'service_account.deleted', toldOf('service_account', row)),
    ...(member ? [deleted(state, known, 'member.removed', member)] : []),
  ]
}
