import { apiTokens, users } from '../../drizzle/schema/accounts.ts'
import { entity } from '../../src/model/definition.ts'
import {
  byCreator,
  integrationNotUndoable,
  serviceAccountSummary,
  tokenSummary,
} from '../members/integrations.ts'

const unloggedOfAccount = ['passwordHash', 'tokenVersion', 'renamedBy', 'emailVerifiedAt'] as const
const unloggedOfToken = ['version', 'slot', 'digest', 'lastUsedAt'] as const

type Account = typeof users.$inferSelect
type Token = typeof apiTokens.$inferSelect

declare module '../../src/model/entities.ts' {
  interface Entities {
    service_account: {
      row: Omit<Account, (typeof unloggedOfAccount)[number] | 'eventId'> & { eventId: string }
      stored: Account
      event: 'created' | 'deleted'
    }
    token: {
      row: Omit<Token, (typeof unloggedOfToken)[number] | 'eventId'> & { eventId: string }
      stored: Token
      event: 'created' | 'deleted'
    }
  }
}

const events = { created: integrationNotUndoable, deleted: integrationNotUndoable }

export const serviceAccount = entity<'service_account'>({
  name: 'service_account',
  about: 'Members for programs. A service account is deleted with its project.',
  table: users,
  parent: 'project',
  load: 'on demand',
  ...byCreator(serviceAccountSummary),
  events,
  unlogged: unloggedOfAccount,
  isDeletedByWorker: true,
})

export const token = entity<'token'>({
  name: 'token',
  about: 'API tokens, which programs send instead of a sign-in token.',
  table: apiTokens,
  parent: 'service_account',
  load: 'on demand',
  ...byCreator(tokenSummary),
  events,
  unlogged: unloggedOfToken,
})
