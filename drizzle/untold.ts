/**
 * The integrations of a project: webhooks, service accounts and their tokens. Of each the columns that no event holds: secrets,
 * and values that change without an event.
 */
export const untold = {
  webhook: [
    ...(['slot', 'url', 'secret', 'formerSecret', 'formerUntil', 'cursor', 'deliveryId', 'head'] as const),
    ...(['failures', 'failingSince', 'nextAt', 'leaseBy', 'leaseUntil'] as const),
  ],
  service_account: ['passwordHash', 'tokenVersion', 'renamedBy', 'emailVerifiedAt'],
  token: ['version', 'slot', 'digest', 'lastUsedAt'],
} as const

export type Integration = keyof typeof untold
export const integrationNames = Object.keys(untold) as Integration[]
export const isIntegration = (name: string): name is Integration => name in untold

/** The columns of an entity that no event holds. */
export const untoldOf = (name: string): readonly string[] => (isIntegration(name) ? untold[name] : [])
