import type { MemberRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import type { RuleContext } from '../../src/commands/command.ts'
import type { StoredRows } from '../../src/model/entities.ts'
import { type EventDraft, deleted } from '../../src/model/events.ts'
import { loggedRow } from '../../src/log/rows.ts'
import { conflict, forbidden } from '../../src/responses/errors.ts'
import type { MemberIntegrations, MemberRemoval } from './integrations.ts'
import { integrations } from './loaded-integrations.ts'

const maxEvents = 5_000

const none: MemberIntegrations = { webhooks: [], serviceAccounts: [], tokens: [] }

export const tooManyToRevoke = () =>
  conflict(
    `More than ${maxEvents} integrations would be revoked in one commit: delete some service accounts of the member first`,
  )
export const ownRevocation = () => forbidden('A service account cannot revoke itself')

/** Returns the integrations that an account created, directly or through service accounts, except expired tokens. */
function integrationsOf(state: ProjectState, userId: string, now: string): MemberIntegrations {
  const creators = new Set([userId])
  const isCreated = ({ createdBy }: { createdBy: string | null }) =>
    createdBy !== null && creators.has(createdBy)
  const all = state.all('service_account')
  for (let size = 0; size < creators.size;) {
    size = creators.size
    for (const account of [...state.fact(integrations).links, ...all])
      if (isCreated(account)) creators.add(account.id)
  }
  return {
    webhooks: state.all('webhook').filter(isCreated),
    serviceAccounts: all.filter((account) => account.id !== userId && isCreated(account)),
    tokens: state.all('token').filter((token) => isCreated(token) && token.expiresAt > now),
  }
}

/** A removal with `revoke` is charged as this many writes: the number of integrations is not known before. */
const revocationWrites = 100
export const removalCost = {
  cost: ({ revoke }: { revoke?: string }) => (revoke === 'true' ? revocationWrites : 1),
  isExpensive: ({ revoke }: { revoke?: string }) => revoke === 'true',
  storesReply: true,
} as const

/** Deletes the account too if the member is a service account. With `revoke`, deletes the member's integrations. */
export function removeMemberEvents(
  state: ProjectState,
  context: RuleContext,
  member: MemberRow,
  { revoke, message }: { revoke?: string; message: string },
) {
  const created = integrationsOf(state, member.userId, context.now)
  const own = state.row('service_account', member.userId)
  const changes = own
    ? deleteServiceAccount(state, context, own)
    : [deleted(state, context, 'member.removed', member)]
  const isRevoked = revoke === 'true'
  if (isRevoked) {
    if (created.serviceAccounts.some(({ id }) => id === context.caller.userId)) throw ownRevocation()
    changes.push(...revokeAll(state, context, created))
    if (changes.length > maxEvents || state.fact(integrations).isTruncated) throw tooManyToRevoke()
  }
  const [stillWorking, revoked] = isRevoked ? [none, created] : [created, none]
  const answer: MemberRemoval = { message, stillWorking, revoked }
  return { changes, isBatch: changes.length > 1, answer }
}

function revokeAll(
  state: ProjectState,
  context: RuleContext,
  { webhooks, serviceAccounts, tokens }: MemberIntegrations,
): EventDraft[] {
  const deletedIds = new Set(serviceAccounts.map(({ id }) => id))
  // The tokens of a deleted service account need no events of their own.
  const others = tokens.filter(({ userId }) => !deletedIds.has(userId))
  return [
    ...serviceAccounts.flatMap((account) => deleteServiceAccount(state, context, account)),
    ...webhooks.map((row) => deleted(state, context, 'webhook.deleted', loggedRow('webhook', row))),
    ...others.map((row) => deleted(state, context, 'token.deleted', loggedRow('token', row))),
  ]
}

function deleteServiceAccount(
  state: ProjectState,
  context: RuleContext,
  row: StoredRows['service_account'],
): EventDraft[] {
  const member = state.memberOf(row.id)
  return [
    deleted(state, context, 'service_account.deleted', loggedRow('service_account', row)),
    ...(member ? [deleted(state, context, 'member.removed', member)] : []),
  ]
}
