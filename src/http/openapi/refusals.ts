import { full } from '../../actor/mailbox.ts'
import { usedOtherwise } from '../../commit/idempotency.ts'
import type { Config } from '../../config.ts'
import { ErrorSchema } from '../../schema/answer.ts'
import { changed } from '../../wire/if-match.ts'
import {
  badToken,
  type ErrorStatus,
  noToken,
  reasons,
  type Refusal,
  unexpected,
} from '../../wire/refusals.ts'
import { encoded, notJson, notUtf8, tooLarge, tooSlow } from '../json-body.ts'
import { overdrawn } from '../limits/headers.ts'
import { tooLong } from '../request-url.ts'
import { type HeaderName, headers, headersOf, referredTo } from './headers.ts'

/** What is refused in the same words wherever it is. */
export const general = ({
  bodyBytes,
  bodyTimeoutMs,
}: Pick<Config, 'bodyBytes' | 'bodyTimeoutMs'>): Refusal[][] => [
  [badToken(), noToken()],
  [tooSlow(bodyTimeoutMs)],
  [changed()],
  [tooLarge(bodyBytes)],
  [tooLong()],
  [notJson(), notUtf8(), encoded()],
  [usedOtherwise()],
  [overdrawn({ name: 'reads', points: 6_000_000, seconds: 60 }, 2_000)],
  [unexpected()],
  [full()],
]

/** The name of a general refusal's answer among the components. */
export const generalName = (status: ErrorStatus): string => reasons[status].replaceAll(' ', '')
export const generalAnswer = (status: ErrorStatus) => ({
  $ref: `#/components/responses/${generalName(status)}`,
})

/** The answer of one status: the first refusal as its example, the others named beside it. */
export function refusalAnswer([first, ...others]: Refusal[]) {
  const { status, message } = first!
  const more = others.map((one) => one.message).join('; ')
  return {
    description: more ? `${reasons[status]}. Also: ${more}` : reasons[status],
    headers: referredTo([...headersOf.refusal, ...headersIn([first!, ...others])]),
    content: {
      'application/json': {
        schema: ErrorSchema,
        example: { statusCode: status, message, error: reasons[status] },
      },
    },
  }
}

/** The names of the refusals' own headers, as the document writes them. */
function headersIn(refusals: Refusal[]): HeaderName[] {
  const names = Object.keys(headers) as HeaderName[]
  return names.filter((name) => refusals.some((one) => name.toLowerCase() in one.headers))
}
