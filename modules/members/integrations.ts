import { Type } from '@sinclair/typebox'
import { Flag } from '../../src/batch/operation-schema.ts'
import type { Rows, StoredRows } from '../../src/model/entities.ts'
import { view, type View } from '../../src/model/view.ts'
import { conflict } from '../../src/responses/errors.ts'
import { named, Id, OrNull, sampleId, Timestamp } from '../../src/schema/response.ts'

const maxListed = 100

const creator = 'The id of the account that created this; null if the account is unknown or deleted'
export const CreatedBy = OrNull(Id('The account that created this'), creator, sampleId)

// Every member sees a summary in events, so it contains nothing that only an ADMIN may read, such as a URL.

export const webhookSummary = view<Omit<Rows['webhook'], 'eventId'>>({
  name: 'WebhookSummary',
  schema: Type.Object({
    id: Id('The webhook'),
    projectId: Id('The project'),
    enabled: Type.Boolean({ description: 'Whether events are sent', examples: [true] }),
    disabledReason: OrNull(Type.String(), 'Why the service disabled the webhook; otherwise null'),
    createdBy: CreatedBy,
    createdAt: Timestamp('When it was created'),
  }),
  computed: { enabled: ({ disabledAt }) => disabledAt === null },
})

export const serviceAccountSummary = view<Omit<Rows['service_account'], 'eventId'>>({
  name: 'ServiceAccountSummary',
  schema: Type.Object({
    id: Id('The service account'),
    projectId: Id('The project'),
    name: Type.String({ description: 'The name of the service account', examples: ['Importer'] }),
    createdBy: CreatedBy,
    createdAt: Timestamp('When it was created'),
  }),
})

export const tokenSummary = view<Omit<Rows['token'], 'eventId'>>({
  name: 'TokenSummary',
  schema: Type.Object({
    id: Id('The token'),
    serviceAccountId: Id('The service account that the token belongs to'),
    createdBy: CreatedBy,
    createdAt: Timestamp('When it was created'),
  }),
  computed: { serviceAccountId: ({ userId }) => userId },
})

export interface MemberIntegrations {
  webhooks: StoredRows['webhook'][]
  serviceAccounts: StoredRows['service_account'][]
  tokens: StoredRows['token'][]
}

const views = { webhooks: webhookSummary, serviceAccounts: serviceAccountSummary, tokens: tokenSummary }
const listsOf = <T>(of: (name: keyof MemberIntegrations) => T) =>
  Object.fromEntries(Object.keys(views).map((name) => [name, of(name as keyof MemberIntegrations)]))

const Lists = named(
  'Creations',
  Type.Object(
    listsOf((name) => Type.Array(views[name].schema, { maxItems: maxListed })),
    { description: `At most ${maxListed} webhooks, service accounts and tokens each` },
  ),
)

const shownOf = (all: MemberIntegrations) =>
  listsOf((name) => all[name].slice(0, maxListed).map((row) => views[name].of(row as never)))

export interface MemberRemoval {
  message: string
  stillWorking: MemberIntegrations
  revoked: MemberIntegrations
}

export const memberRemovalView = view<MemberRemoval>({
  name: 'Departure',
  schema: Type.Object({
    message: Type.String({ description: 'The result', examples: ['Member removed successfully'] }),
    stillWorking: Lists,
    revoked: Lists,
  }),
  of: ({ message, stillWorking, revoked }) => {
    return { message, stillWorking: shownOf(stillWorking), revoked: shownOf(revoked) }
  },
  hasNoEtag: true,
})

export const Revoke = Flag(
  'Revoke',
  '`true` also deletes all webhooks, service accounts and tokens that the member created',
)

export const integrationNotUndoable = () =>
  conflict('Changes of webhooks, service accounts and tokens cannot be undone: send another change instead')

export function freeSlot(rows: { slot: number }[]): number {
  const used = new Set(rows.map(({ slot }) => slot))
  let slot = 1
  while (used.has(slot)) slot++
  return slot
}

/** Shows `createdBy` as null after the creator's account is deleted. */
export const byCreator = <R extends { createdBy: string | null }>(view: View<R>) => ({
  view: {
    ...view,
    of: (row: R, person?: { id: string }) => view.of(person ? row : { ...row, createdBy: null }),
  },
  person: 'createdBy' as const,
})
