import { tooManyOfOne } from '../admission/scheduler.ts'
import { full } from '../actor/project-actor.ts'
import { usedOtherwise } from '../commit/idempotency.ts'
import type { Config } from '../config.ts'
import { changed } from '../responses/if-match.ts'
import { badToken, noToken, type HttpError, tooLong, unexpected } from '../responses/errors.ts'
import { encoded, notJson, notUtf8, tooLarge, tooSlow } from './json-body.ts'
import { overdrawn } from './limits/budget.ts'

/** Errors with the same text everywhere, by status: for the document. */
export const generalRefusals = ({ bodyBytes, bodyTimeoutMs }: Config): HttpError[][] => [
  [badToken(), noToken()],
  [tooSlow(bodyTimeoutMs)],
  [changed()],
  [tooLarge(bodyBytes)],
  [tooLong()],
  [notJson(), notUtf8(), encoded()],
  [usedOtherwise()],
  [overdrawn({ name: 'reads', points: 6_000_000, seconds: 60 }, 2_000), tooManyOfOne()],
  [unexpected()],
  [full()],
]
