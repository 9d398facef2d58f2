import { tooManyOfAccount } from '../admission/scheduler.ts'
import { mailboxFull } from '../actor/actors.ts'
import { keyReused } from '../commit/idempotency.ts'
import type { Config } from '../config.ts'
import { claimEnded } from '../commands/if-claim.ts'
import { preconditionFailed } from '../responses/if-match.ts'
import { invalidToken, missingToken, type HttpError, urlTooLong, internalError } from '../responses/errors.ts'
import { contentEncoded, notJson, notUtf8, tooLarge, tooSlow } from './json-body.ts'
import { rateLimited } from './limits/budget.ts'

/** Returns the errors that have the same text for every operation: one array per status, for the OpenAPI document. */
export const commonErrors = ({ bodyBytes, bodyTimeoutMs }: Config): HttpError[][] => [
  [invalidToken(), missingToken()],
  [tooSlow(bodyTimeoutMs)],
  [preconditionFailed(), claimEnded()],
  [tooLarge(bodyBytes)],
  [urlTooLong()],
  [notJson(), notUtf8(), contentEncoded()],
  [keyReused()],
  [rateLimited({ name: 'reads', points: 6_000_000, seconds: 60 }, 2_000), tooManyOfAccount()],
  [internalError()],
  [mailboxFull()],
]
